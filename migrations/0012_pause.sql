-- Which pauses of an attempt have been heard of: a journal may be told from its beginning again.
alter table rota.attempt add column pause_clock bigint;
comment on column rota.attempt.pause_clock is 'The first node''s clock (microseconds since its boot) at the latest suspension or continuation that was taken; earlier ones are old news.';
