-- People who are signed in to the console with the key of an app, and links that sign
-- somebody in once.
create table console_session (
  workspace_id {{.UUID}} not null,
  app_id       {{.UUID}} not null,
  id           {{.UUID}} not null,
  token_hash   {{.Bytes}} not null,
  key_hash     {{.Bytes}} not null, -- of the App key, which the session ends with
  is_link      boolean not null,
  user_agent   {{.Text}} not null,
  created_at   bigint not null,
  last_seen_at bigint not null,
  ends_at      bigint not null,
  primary key (workspace_id, app_id, id)
);
-- It has 256 random bits, so it is unique.
create index console_session_token on console_session (token_hash);
create index console_session_end on console_session (ends_at);
