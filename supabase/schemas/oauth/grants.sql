-- What an application holds of a person: grants, their codes and refresh tokens, and access tokens revoked early.

-- Ends every token of a grant at once; returns whether it was still live.
create function private.end_grant(grant_id uuid, reason text) returns boolean
language plpgsql
as $$
begin
  update core.oauth_grants g set revoked_at = private.now() where g.id = grant_id and g.revoked_at is null;
  if not found then
    return false;
  end if;
  perform private.audit('oauth.grant_ended', grant_id, jsonb_build_object('reason', reason));
  return true;
end $$;

-- Whether a grant may still give tokens: not revoked, and its login neither deleted nor banned.
create function private.is_live(oauth_grant core.oauth_grants) returns boolean
language sql stable
as $$ select oauth_grant.revoked_at is null and private.login_stands(oauth_grant.user_id) $$;

-- Whether a second use came within 30 seconds. It then counts as a lost answer or parallel requests, not as a theft.
create function private.is_race(used_at timestamptz) returns boolean
language sql stable
as $$ select used_at >= private.now() - interval '30 seconds' $$;

create function private.add_refresh_token(grant_id uuid, generation int, token_hash text) returns void
language sql
as $$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (private.reserve_token_hash(add_refresh_token.token_hash), grant_id, generation, private.now() + interval '30 days')
$$;
