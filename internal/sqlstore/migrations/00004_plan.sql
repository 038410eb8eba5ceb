-- The plan that a scheduled publish was reviewed by.
alter table publish add column plan {{.Text}};
