//! What both ends of a copy agree on, whatever the database or the role was told to start with.

/// Texts mean the same on both sides, names are found in `pg_catalog` only, and nothing times out
/// while large tables are on their way.
pub(crate) const COMMON: &str = "
    set search_path = pg_catalog, pg_temp;
    set statement_timeout = 0;
    set idle_in_transaction_session_timeout = 0;
    set client_min_messages = warning;
    set standard_conforming_strings = on;
    set datestyle = 'ISO, YMD';
    set intervalstyle = 'postgres';
    set extra_float_digits = 3;
    set bytea_output = 'hex';
    set xmloption = 'content';
    set lc_monetary = 'C';
    set quote_all_identifiers = off;
    set row_security = off;
    set default_transaction_read_only = off;
    set transform_null_equals = off;";

/// Waiting longer than this for a table means that somebody holds it for good.
pub(crate) const READING: &str = "set lock_timeout = '30s';";

/// Bodies of functions may name what comes later. A crash costs the whole half-made database, so
/// that single commits need not reach the disk.
pub(crate) const WRITING: &str = "
    set lock_timeout = 0;
    set check_function_bodies = off;
    set default_tablespace = '';
    set default_table_access_method = heap;
    set synchronous_commit = off;";
