-- Why a bank did not pay, or sent back: the codes that decide what happens next. Names are those of the ISO 20022
-- External Code Sets (ExternalStatusReason1Code, ExternalReturnReason1Code); the use in credit transfers is that of
-- EPC135-18, Guidance on reason codes for SEPA Credit Transfer R-transactions. Effects are ours:
-- account: the account is wrong. Its IBAN is barred, and the customer is asked for another one.
-- holder:  the holder died. Nothing is paid to the payee until payout release, and nobody is mailed.
-- none:    nothing says that the account is wrong. Nothing is barred, nobody is mailed, and the money is payable again.
-- ours:    as none, and nothing that the payee could change.
-- before:  the bank had the same order before, and pays that one. It changes nothing. As the reason of a payment that
--          came back it says that the money is here: then it is as none.
create function private.bank_reasons() returns table (code text, effect text, means text)
language sql immutable
as $$
  select * from (values
    ('AC01', 'account', 'the account number is wrong'),
    ('AC03', 'account', 'the account number of the payee is wrong'),
    ('AC04', 'account', 'the account is closed'),
    ('AC06', 'account', 'the account is blocked'),
    ('AC07', 'account', 'the account of the payee is closed'),
    ('AG01', 'account', 'this kind of account takes no transfers, such as a savings account'),
    ('BE01', 'account', 'the account belongs to somebody else than the name says'),
    ('MD07', 'holder', 'the holder of the account died'),
    ('AC02', 'ours', 'the number of our own account is wrong'),
    ('AC05', 'ours', 'our own account is closed'),
    ('AG02', 'ours', 'the bank does not know this kind of order'),
    ('AM02', 'ours', 'the amount is more than the bank allows'),
    ('AM04', 'ours', 'our own account had too little money'),
    ('AM05', 'before', 'the bank had this order before'),
    ('AM09', 'ours', 'the amount is wrong'),
    ('AM10', 'ours', 'the sum of the file is not that of its payments'),
    ('CNOR', 'none', 'the bank of the payee cannot be reached by SEPA'),
    ('CUST', 'none', 'we asked for it back, or the payee sent it back'),
    ('DT01', 'ours', 'the day of payment is none that the bank takes'),
    ('DU01', 'before', 'the bank had a file of this id before'),
    ('DU02', 'before', 'the bank had a batch of this id before'),
    ('DU03', 'before', 'the bank had this payment before'),
    ('DU04', 'before', 'the bank had a payment of this id before'),
    ('DU05', 'before', 'the bank had an instruction of this id before'),
    ('DUPL', 'before', 'the bank had this payment before'),
    ('ED05', 'ours', 'the banks could not settle it'),
    ('FF01', 'ours', 'the bank could not read the file'),
    ('FOCR', 'ours', 'we asked for it back'),
    ('FRAD', 'none', 'the bank suspects fraud'),
    ('MS02', 'none', 'the payee refused it, without a reason'),
    ('MS03', 'none', 'the bank gave no reason'),
    ('NARR', 'none', 'the bank gave its reason in words'),
    ('RC01', 'none', 'the BIC is wrong'),
    ('RR01', 'ours', 'by law: our account or our id is missing'),
    ('RR02', 'ours', 'by law: our name or address is missing'),
    ('RR03', 'none', 'by law: the name or address of the payee is missing'),
    ('RR04', 'none', 'by law'),
    ('TECH', 'ours', 'the bank had a technical fault'),
    ('TM01', 'ours', 'the order came after the hour of the bank')) r (code, effect, means)
$$;

-- What a reason of a bank's file comes to. A code that the table does not have bars nothing and mails nobody.
create function private.bank_effect(reason text) returns text
language sql immutable
as $$
  select coalesce((select case r.effect when 'ours' then 'none' else r.effect end from private.bank_reasons() r
                    where r.code = left(btrim(reason), 4) and btrim(reason) ~ '^[A-Z0-9]{4}( |$)'), 'none')
$$;

-- What a reason of a payment that came back comes to.
create function private.return_effect(reason text) returns text
language sql immutable
as $$ select case private.bank_effect(reason) when 'before' then 'none' else private.bank_effect(reason) end $$;

-- How much an effect holds back: 1 is the least.
create function private.severity(effect text) returns int
language sql immutable
as $$ select array_position(array['none', 'account', 'holder'], effect) $$;

-- Of the reasons that a file gives, the one that decides: that the bank had the order before, which it may say
-- elsewhere too (all_of), or else the one that holds back most, or the first of those.
create function private.deciding_reason(reasons text[], all_of text[]) returns text
language sql immutable
as $$
  select coalesce((select r from unnest(all_of) with ordinality u (r, n)
                    where private.bank_effect(r) = 'before' order by n limit 1),
                  (select r from unnest(reasons) with ordinality u (r, n)
                    order by private.severity(private.return_effect(r)) desc, n limit 1))
$$;

-- Of the reason that somebody gave before for a line and one that comes to this effect, the one that holds back more.
-- Of two that hold back the same it is the first.
create function private.stricter_reason(asked text, reason text, effect text) returns text
language sql immutable
as $$
  select case when asked is null or private.severity(effect) > private.severity(private.return_effect(asked))
              then reason else asked end
$$;

-- What an operator's reason comes to. Words without a code of a bank report an account that is wrong.
create function private.failure_effect(reason text) returns text
language sql immutable
as $$
  select case when btrim(reason) ~ '^(?!IBAN)[A-Z]{2}[A-Z0-9]{2}( |$)' then private.bank_effect(reason)
              else 'account' end
$$;
