-- How far each node's standby is known to follow: a node counts its mark up and
-- looks for it there. There is no index on the time, so that no update adds an
-- entry to an index.
create table replica_mark (
  node      {{.UUID}} primary key,
  mark      bigint not null,
  marked_at bigint not null
);
