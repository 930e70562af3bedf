/** A template ($1) filled with fields ($2), for HTML or not ($3), by the functions that private.enqueue_mails fills a letter with. */
export const FILL_MARKS = `
  select format(private.as_format($1, n.names), variadic case when $3 then v.escaped else v.plain end) as text
    from (select private.mark_names($1) as names) n cross join private.mark_values(n.names, $2) v`;
