//! Session settings of both ends, independent of the defaults of the database or role.

/// Text formats agree in both databases, names are resolved in `pg_catalog` only, and no timeout applies
/// while large tables are copied.
pub const COMMON: &str = "
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

/// Longer waits mean a lock that is not going to be released.
pub(crate) const READING: &str = "set lock_timeout = '30s';";

/// Function bodies may refer to objects created later. Commits need not be durable: a crash costs the
/// whole unfinished database anyway.
pub(crate) const WRITING: &str = "
    set lock_timeout = 0;
    set check_function_bodies = off;
    set default_tablespace = '';
    set default_table_access_method = heap;
    set synchronous_commit = off;";
