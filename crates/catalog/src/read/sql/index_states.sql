-- $1: also those of system schemas
select coalesce(sum(hashtextextended(
  concat_ws(
    ' ', i.indexrelid, i.indisvalid, i.indisready, i.indislive, i.indisclustered, i.indisreplident
  ), 0
)), 0)::text
from pg_index i
where $1 or i.indexrelid >= 16384
