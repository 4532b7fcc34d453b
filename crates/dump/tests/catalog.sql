-- A database as text without ids: every catalog that a dump is about, one line per object.
-- Names come from pg_identify_object, definitions from the server's own functions.
with
acls as (
    select i.type || ' ' || i.identity as object, x.acl
    from (select 'pg_class'::regclass::oid as class, oid as object, 0 as sub, coalesce(relacl, acldefault(case when relkind = 'S' then 's' else 'r' end::"char", relowner)) as acl
          from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and relpersistence <> 't'
          union all select 'pg_class'::regclass, attrelid, attnum, attacl from pg_attribute where attacl is not null and not attisdropped
          union all select 'pg_proc'::regclass, oid, 0, coalesce(proacl, acldefault('f', proowner)) from pg_proc
          union all select 'pg_type'::regclass, oid, 0, coalesce(typacl, acldefault('T', typowner)) from pg_type where typtype <> 'p'
          union all select 'pg_namespace'::regclass, oid, 0, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace where nspname !~ '^pg_(temp|toast)'
          union all select 'pg_language'::regclass, oid, 0, coalesce(lanacl, acldefault('l', lanowner)) from pg_language
          union all select 'pg_foreign_data_wrapper'::regclass, oid, 0, coalesce(fdwacl, acldefault('F', fdwowner)) from pg_foreign_data_wrapper
          union all select 'pg_foreign_server'::regclass, oid, 0, coalesce(srvacl, acldefault('S', srvowner)) from pg_foreign_server
          union all select 'pg_largeobject'::regclass, oid, 0, coalesce(lomacl, acldefault('L', lomowner)) from pg_largeobject_metadata) x
    cross join lateral pg_identify_object(x.class, x.object, x.sub) i
    where i.identity !~ '^pg_toast'
)
select line from (
select 'acl ' || object || ' ' || (select string_agg(a::text, ' ' order by a::text) from unnest(acl) a) as line from acls
union all
select 'owner ' || i.type || ' ' || i.identity || ' ' || pg_get_userbyid(o.owner)
from (select 'pg_class'::regclass::oid as class, oid as object, relowner as owner from pg_class where relkind <> 't' and relnamespace <> 'pg_toast'::regnamespace and relpersistence <> 't'
      union all select 'pg_proc'::regclass, oid, proowner from pg_proc
      union all select 'pg_type'::regclass, oid, typowner from pg_type where typrelid = 0 or typtype = 'c'
      union all select 'pg_namespace'::regclass, oid, nspowner from pg_namespace where nspname !~ '^pg_(temp|toast)'
      union all select 'pg_extension'::regclass, oid, extowner from pg_extension
      union all select 'pg_operator'::regclass, oid, oprowner from pg_operator
      union all select 'pg_opclass'::regclass, oid, opcowner from pg_opclass
      union all select 'pg_opfamily'::regclass, oid, opfowner from pg_opfamily
      union all select 'pg_collation'::regclass, oid, collowner from pg_collation
      union all select 'pg_conversion'::regclass, oid, conowner from pg_conversion
      union all select 'pg_ts_dict'::regclass, oid, dictowner from pg_ts_dict
      union all select 'pg_ts_config'::regclass, oid, cfgowner from pg_ts_config
      union all select 'pg_statistic_ext'::regclass, oid, stxowner from pg_statistic_ext
      union all select 'pg_publication'::regclass, oid, pubowner from pg_publication
      union all select 'pg_event_trigger'::regclass, oid, evtowner from pg_event_trigger
      union all select 'pg_foreign_server'::regclass, oid, srvowner from pg_foreign_server
      union all select 'pg_foreign_data_wrapper'::regclass, oid, fdwowner from pg_foreign_data_wrapper
      union all select 'pg_largeobject'::regclass, oid, lomowner from pg_largeobject_metadata) o
cross join lateral pg_identify_object(o.class, o.object, 0) i
where i.identity !~ 'pg_toast'
union all
select format('comment %s %s %s', i.type, i.identity, d.description) from pg_description d cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) i where i.identity !~ '^(pg_catalog|pg_toast|information_schema)\.'
union all
select format('extension %s %s %s', extname, extversion, extnamespace::regnamespace) from pg_extension
union all
select format('relation %s %s %s %s %s %s %s %s %s %s %s %s', oid::regclass, relkind, relpersistence, relrowsecurity, relforcerowsecurity, relreplident, reloptions, relispartition, relispopulated, pg_get_expr(relpartbound, oid), (select amname from pg_am a where a.oid = relam), reloftype::regtype)
from pg_class where relkind <> 't' and relnamespace not in ('pg_toast'::regnamespace, 'pg_catalog'::regnamespace)
union all
select format('toast %s %s', c.oid::regclass, t.reloptions) from pg_class c join pg_class t on t.oid = c.reltoastrelid where c.oid >= 16384
union all
select format('column %s %s %s %s %s %s %s %s %s %s %s %s %s %s %s %s', a.attrelid::regclass, a.attname, row_number() over (partition by a.attrelid order by a.attnum), format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attislocal, a.attinhcount, a.attstorage, a.attcompression, case when a.attstattarget >= 0 then a.attstattarget end, (select array_agg(o) from unnest(a.attoptions) o where o not like 'pg\_attver=%'), a.attfdwoptions, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where a.attrelid >= 16384 and a.attnum > 0 and not a.attisdropped and c.relkind <> 't' and c.relnamespace <> 'pg_toast'::regnamespace
union all
select format('inherits %s %s %s', inhrelid::regclass, inhparent::regclass, inhseqno) from pg_inherits
union all
select format('constraint %s %s %s %s %s %s %s %s', coalesce(nullif(conrelid, 0)::regclass::text, contypid::regtype::text), conname, contype, pg_get_constraintdef(oid), convalidated, conislocal, coninhcount, case when contype not in ('p', 'u', 'x') then connoinherit end) from pg_constraint where oid >= 16384
union all
select format('index %s %s %s %s %s', pg_get_indexdef(indexrelid), indisclustered, indisreplident, indisvalid, indimmediate) from pg_index where indexrelid >= 16384 and indrelid::regclass::text !~ '^pg_toast'
union all
select format('view %s %s', oid::regclass, pg_get_viewdef(oid)) from pg_class where relkind in ('v', 'm') and oid >= 16384
union all
select format('function %s', case when prokind = 'a' then p.oid::regprocedure || ' ' || (select to_jsonb(a) - 'aggfnoid' - 'aggsortop' - 'aggtranstype' - 'aggmtranstype' || jsonb_build_object('types', format('%s %s %s', aggsortop::regoperator, aggtranstype::regtype, aggmtranstype::regtype)) from pg_aggregate a where a.aggfnoid = p.oid)::text else pg_get_functiondef(p.oid) end) from pg_proc p where p.oid >= 16384
union all
select format('type %s %s %s %s %s %s %s %s', t.oid::regtype, typtype, typnotnull, format_type(typbasetype, typtypmod), pg_get_expr(typdefaultbin, 0), typcollation::regcollation, (select string_agg(enumlabel, ',' order by enumsortorder) from pg_enum where enumtypid = t.oid), (select format('%s %s %s %s', rngsubtype::regtype, rngmultitypid::regtype, rngcollation::regcollation, rngsubdiff) from pg_range where rngtypid = t.oid)) from pg_type t where t.oid >= 16384 and t.typname !~ '^_?pg_toast'
union all
select format('sequence %s %s', seqrelid::regclass, to_jsonb(s) - 'seqrelid') from pg_sequence s
union all
select format('sequence owner %s %s %s %s', objid::regclass, refobjid::regclass, refobjsubid > 0, deptype) from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S' where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass
union all
select format('trigger %s %s %s', pg_get_triggerdef(oid), tgenabled, tgparentid <> 0) from pg_trigger where not tgisinternal
union all
select format('rule %s %s', pg_get_ruledef(oid), ev_enabled) from pg_rewrite where oid >= 16384
union all
select format('policy %s %s %s %s %s %s %s', polname, polrelid::regclass, polcmd, polpermissive, (select string_agg(r::regrole::text, ',') from unnest(polroles) r), pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) from pg_policy
union all
select format('statistics %s %s', pg_get_statisticsobjdef(oid), case when stxstattarget >= 0 then stxstattarget end) from pg_statistic_ext
union all
select format('operator %s %s %s %s %s %s %s %s', oid::regoperator, oprcode, oprcom::regoperator, oprnegate::regoperator, oprrest, oprjoin, oprcanmerge, oprcanhash) from pg_operator where oid >= 16384
union all
select format('family %s %s %s', i.identity, amopstrategy, amopopr::regoperator) from pg_amop a cross join lateral pg_identify_object('pg_opfamily'::regclass, a.amopfamily, 0) i where a.oid >= 16384
union all
select format('family %s %s %s', i.identity, amprocnum, amproc::regprocedure) from pg_amproc a cross join lateral pg_identify_object('pg_opfamily'::regclass, a.amprocfamily, 0) i where a.oid >= 16384
union all
select format('class %s %s %s', i.identity, opcdefault, opcintype::regtype) from pg_opclass c cross join lateral pg_identify_object('pg_opclass'::regclass, c.oid, 0) i where c.oid >= 16384
union all
select format('cast %s %s %s %s %s', castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod) from pg_cast where oid >= 16384
union all
select format('conversion %s %s %s %s', conname, conforencoding, contoencoding, conproc) from pg_conversion where oid >= 16384
union all
select format('collation %s', to_jsonb(c) - 'oid' - 'collnamespace' - 'collowner' - 'collencoding') from pg_collation c where oid >= 16384
union all
select format('dictionary %s %s %s', oid::regdictionary, dicttemplate, dictinitoption) from pg_ts_dict where oid >= 16384
union all
select format('configuration %s %s %s %s', mapcfg::regconfig, maptokentype, mapseqno, mapdict::regdictionary) from pg_ts_config_map where mapcfg >= 16384
union all
select format('wrapper %s %s %s %s', fdwname, fdwhandler::regproc, fdwvalidator::regproc, fdwoptions) from pg_foreign_data_wrapper
union all
select format('server %s %s %s %s', srvname, srvtype, srvversion, srvoptions) from pg_foreign_server
union all
select format('mapping %s %s %s', srvname, usename, umoptions) from pg_user_mappings
union all
select format('foreign table %s %s', ftrelid::regclass, ftoptions) from pg_foreign_table
union all
select format('publication %s', to_jsonb(p) - 'oid' - 'pubowner') from pg_publication p
union all
select format('published %s %s %s %s', p.pubname, prrelid::regclass, (select string_agg(attname, ',' order by attnum) from pg_attribute where attrelid = prrelid and attnum = any (prattrs)), pg_get_expr(prqual, prrelid)) from pg_publication_rel r join pg_publication p on p.oid = r.prpubid
union all
select format('published %s %s', p.pubname, pnnspid::regnamespace) from pg_publication_namespace r join pg_publication p on p.oid = r.pnpubid
union all
select format('event trigger %s %s %s %s %s', evtname, evtevent, evtfoid::regproc, evtenabled, evttags) from pg_event_trigger
union all
select format('default acl %s %s %s %s', defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, (select string_agg(a::text, ' ' order by a::text) from unnest(defaclacl) a)) from pg_default_acl
union all
select format('depends on extension %s %s', i.identity, e.extname) from pg_depend d join pg_extension e on e.oid = d.refobjid cross join lateral pg_identify_object(d.classid, d.objid, 0) i where d.deptype = 'x' and d.refclassid = 'pg_extension'::regclass
union all
select format('large object %s %s', oid, md5(lo_get(oid))) from pg_largeobject_metadata
union all
select format('setting %s %s', setrole::regrole, setconfig) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where d.datname = current_database()
) lines
order by line collate "C"
