-- The URLs that a publish changed, sorted: a thousand in each part, from part 0 on.
create table publish_url (
  site_id    {{.UUID}} not null references site (id),
  publish_id {{.UUID}} not null,
  part       integer not null,
  urls       {{.Bytes}} not null, -- compressed, see publish_url.go
  primary key (site_id, publish_id, part)
);
