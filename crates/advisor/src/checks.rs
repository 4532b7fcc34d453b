//! Every check, with what is common to its findings. The names are those of the Management API, those with
//! `plinth_` are additions.

use serde_json::{Map, Value};

use crate::{
    AuthFacts, Category, Facts, Level,
    kind::{Found, Kind, SqlCheck},
};
use Category::{Performance, Security};
use Level::{Error, Info, Warn};

macro_rules! sql_checks {
    ($($level:ident $category:ident $name:literal $title:literal $description:literal)*) => {
        &[$(SqlCheck {
            kind: Kind {
                name: $name,
                title: $title,
                level: $level,
                category: $category,
                description: $description,
            },
            sql: concat!(
                "with given (exposed, limits, system_schemas) as (select $1::text[], $2::jsonb, $3::text[])\n",
                include_str!(concat!("sql/", $name, ".sql")),
            ),
        }),*]
    };
}

/// What the database answers.
#[rustfmt::skip]
pub(crate) const SQL_CHECKS: &[SqlCheck] = sql_checks! {
    Error Security "rls_disabled_in_public" "Row level security is disabled"
        "The API serves this table and no policy limits who sees or changes its rows: everybody with the publishable key can."
    Error Security "policy_exists_rls_disabled" "Policies without row level security"
        "Policies have an effect only where row level security is enabled."
    Info Security "rls_enabled_no_policy" "Row level security without policies"
        "Without a policy nobody but the service role can read or change a row. A policy that says so shows that it is meant."
    Error Security "security_definer_view" "View with the rights of its owner"
        "A view reads with its owner's rights unless security_invoker is set, and so passes by the policies of its tables."
    Error Security "auth_users_exposed" "Users are shown by a view"
        "A view of auth.users that the API serves shows addresses and metadata of all users."
    Warn Security "function_search_path_mutable" "Function without a search path"
        "Names in a function without a search path of its own are looked up in the caller's, who can put something else there."
    Warn Security "extension_in_public" "Extension in schema public"
        "Functions of an extension in an exposed schema can be called through the API."
    Error Security "rls_references_user_metadata" "Policy trusts user metadata"
        "Users change their user metadata themselves, so that a policy must not rely on it. App metadata is not theirs to change."
    Warn Security "materialized_view_in_api" "Materialized view in the API"
        "No policy applies to a materialized view: who may read it sees all of it."
    Warn Security "foreign_table_in_api" "Foreign table in the API"
        "No policy applies to a foreign table: who may read it sees all of it."
    Error Security "leaked_service_key" "Secret key in the database"
        "Bodies of functions and arguments of triggers can be read by everybody in the database, and are in every dump."
    Warn Security "vulnerable_postgres_version" "PostgreSQL lacks security fixes"
        "A newer minor release fixes security problems of this one."
    Warn Security "plinth_public_bucket_listing" "Files of a public bucket can be listed"
        "Files of a public bucket are fetched by their URL without a policy. A policy for SELECT lets everybody find all of them."
    Warn Security "plinth_anon_can_truncate" "API roles may empty a table"
        "Row level security does not apply to TRUNCATE. The API cannot be asked for it, but a function that runs as its caller can."

    Info Performance "unindexed_foreign_keys" "Foreign key without an index"
        "Deleting or changing a row that others refer to looks for them: without an index it reads the whole table."
    Warn Performance "auth_rls_initplan" "Policy asks for the caller in every row"
        "Put into a sub-select, auth.uid() and the like are asked once per statement and not once per row."
    Info Performance "no_primary_key" "Table without a primary key"
        "Without a primary key rows cannot be told apart: the console cannot edit them, and changes are replicated slowly or not at all."
    Info Performance "unused_index" "Index that nothing uses"
        "An index costs time with every write and space; this one was never read since statistics began."
    Warn Performance "duplicate_index" "The same index twice"
        "Two equal indexes cost twice and help once."
    Warn Performance "multiple_permissive_policies" "Several permissive policies"
        "Permissive policies for the same role and command all run for every row. One with `or` does the same."
    Warn Performance "unsupported_reg_types" "Column that hinders upgrades"
        "Values of these types are numbers of this server's objects, which the next version does not know."
    Warn Performance "plinth_bloat" "Table with many dead rows"
        "Dead rows take space and time until vacuum removes them. A transaction or replication slot that stays open keeps them."
    Info Performance "plinth_seq_scan_heavy" "Table read without an index"
        "Reading a large table from its beginning to its end, again and again, is what an index is for."
    Warn Performance "plinth_invalid_index" "Invalid index"
        "A CREATE INDEX CONCURRENTLY that failed leaves an index that is written and never read."
    Error Performance "plinth_xid_age" "Transaction numbers run out"
        "Rows must be frozen before transaction numbers come round. Autovacuum does it, unless something holds it up."
    Info Performance "plinth_stats_stale" "Old statistics"
        "The planner chooses by statistics. They are made by autovacuum, or by ANALYZE."
    Error Performance "plinth_slot_lag" "Replication slot far behind"
        "A slot keeps the WAL that its reader has not read yet, until the disk is full."
    Warn Performance "plinth_collation_drift" "Collation changed under its indexes"
        "The operating system sorts otherwise than when indexes were built, which may hide rows and let duplicates in."
};

const fn security(
    level: Level,
    name: &'static str,
    title: &'static str,
    description: &'static str,
) -> Kind {
    Kind {
        name,
        title,
        level,
        category: Security,
        description,
    }
}

/// What the caller knows: of each check its findings, or nothing if the caller does not know.
pub(crate) fn of_facts(facts: &Facts) -> Vec<(Kind, Option<Vec<Found>>)> {
    let mut checks = of_auth(facts.auth.as_ref());
    checks.extend([
        (
            security(
                Warn,
                "ssl_not_enforced",
                "Database connections without encryption",
                "Passwords and rows travel readable between this server and tools on other machines.",
            ),
            facts.encrypts_connections.map(|encrypts| {
                one_if(!encrypts, "The database port takes connections without TLS.")
            }),
        ),
        (
            security(
                Error,
                "plinth_secret_key_in_function_source",
                "Secret key in the source of a function",
                "Sources are kept, shown to operators and often public. Secrets of functions are the place for keys.",
            ),
            facts.functions_with_secret_keys.as_ref().map(|slugs| {
                let found = |slug: &String| {
                    let detail = format!("The source of function {slug} has a secret key in it. Rotate it, and read it from the environment.");
                    named(detail, slug, "edge function")
                };
                slugs.iter().map(found).collect()
            }),
        ),
        (
            security(
                Info,
                "no_backup_admin",
                "One operator alone",
                "If the only operator who may manage members is away, or has lost the second factor, nobody else can help.",
            ),
            facts
                .admins
                .map(|admins| one_if(admins == 1, "Only one operator is owner or admin.")),
        ),
        (
            security(
                Warn,
                "plinth_operator_without_mfa",
                "Operator without a second factor",
                "An operator's password alone opens all projects.",
            ),
            facts.operators_without_second_factor.as_ref().map(|operators| {
                let found = |operator: &String| {
                    named(format!("{operator} has no second factor."), operator, "operator")
                };
                operators.iter().map(found).collect()
            }),
        ),
        (
            security(
                Warn,
                "plinth_backup_stale",
                "No recent backup",
                "What is lost cannot be brought back.",
            ),
            facts.hours_since_backup.map(|hours| match hours {
                None => one_if(true, "There is no backup."),
                Some(hours) => one_if(hours > 48, &format!("The last backup is {hours} hours old.")),
            }),
        ),
    ]);
    checks
}

fn of_auth(auth: Option<&AuthFacts>) -> Vec<(Kind, Option<Vec<Found>>)> {
    let check = |kind, found: &dyn Fn(&AuthFacts) -> Vec<Found>| (kind, auth.map(found));
    vec![
        check(
            security(
                Warn,
                "auth_otp_long_expiry",
                "Codes in mails are valid for long",
                "Who gets at a mail later can still use its code or link. An hour is enough.",
            ),
            &|auth| {
                let detail = format!("Codes in mails are valid for {} seconds.", auth.otp_expiry);
                setting_if(
                    auth.otp_expiry > 3600,
                    detail,
                    "auth.email.otp_expiry",
                    "3600",
                )
            },
        ),
        check(
            security(
                Warn,
                "auth_otp_short_length",
                "Codes in mails are short",
                "Codes of fewer than six digits can be guessed.",
            ),
            &|auth| {
                let detail = format!("Codes in mails have {} digits.", auth.otp_length);
                setting_if(auth.otp_length < 6, detail, "auth.email.otp_length", "6")
            },
        ),
        check(
            security(
                Warn,
                "auth_leaked_password_protection",
                "Leaked passwords are accepted",
                "Passwords that were published are tried first. They can be compared with a list of them, without being sent.",
            ),
            &|auth| {
                let detail = "Passwords are not compared with known leaks.".to_owned();
                let setting = "plinth.auth.password.hibp.enabled";
                setting_if(!auth.checks_leaked_passwords, detail, setting, "true")
            },
        ),
        check(
            security(
                Warn,
                "auth_insufficient_mfa_options",
                "Few second factors",
                "With one kind of second factor only, users who lose it have no other.",
            ),
            &|auth| {
                let detail = format!(
                    "Kinds of second factors that users can have: {}.",
                    auth.second_factors
                );
                setting_if(
                    auth.second_factors < 2,
                    detail,
                    "auth.mfa.web_authn.enroll_enabled",
                    "true",
                )
            },
        ),
        check(
            security(
                Info,
                "auth_password_policy_missing",
                "Passwords may be of one kind of characters",
                "Short passwords of letters alone are guessed quickly.",
            ),
            &|auth| {
                let detail = "Passwords may consist of one kind of characters.".to_owned();
                let setting = "auth.password_requirements";
                let value = "lower_upper_letters_digits";
                setting_if(!auth.requires_characters, detail, setting, value)
            },
        ),
        check(
            security(
                Warn,
                "password_requirements_min_length",
                "Short passwords are accepted",
                "Passwords of fewer than eight characters are guessed quickly.",
            ),
            &|auth| {
                let length = auth.minimum_password_length;
                let detail = format!("Passwords of {length} characters are accepted.");
                setting_if(length < 8, detail, "auth.minimum_password_length", "8")
            },
        ),
        check(
            security(
                Info,
                "plinth_default_smtp",
                "No mail server",
                "Without a mail server mails go to the development mailbox, and no user gets one.",
            ),
            &|auth| {
                let detail = "Mails to users are kept in the development mailbox.".to_owned();
                setting_if(
                    !auth.has_mail_server,
                    detail,
                    "auth.email.smtp.enabled",
                    "true",
                )
            },
        ),
        check(
            security(
                Warn,
                "plinth_redirect_wildcard",
                "Sign-ins may lead to any host",
                "A link in a mail carries a session to the address it redirects to. A pattern for hosts lets others have it.",
            ),
            &|auth| {
                let open = auth.redirect_urls.iter().filter(|url| has_open_host(url));
                let found = |url: &String| {
                    named(format!("Redirects are allowed to {url}."), url, "setting")
                };
                open.map(found).collect()
            },
        ),
    ]
}

/// Whether anybody could have a host that a pattern matches: a wildcard that is not a label below a
/// domain of one's own.
fn has_open_host(pattern: &str) -> bool {
    let Some((scheme, rest)) = pattern.split_once("://") else {
        return pattern.starts_with('*');
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let fixed = host.rsplit('*').next().unwrap_or_default();
    // `*.example.com` has a domain after the wildcard, `*.com` and `*` have none.
    let has_domain = fixed.starts_with('.') && fixed.trim_matches('.').contains('.');
    scheme.contains('*') || (host.contains('*') && !has_domain)
}

fn one_if(condition: bool, detail: &str) -> Vec<Found> {
    let found = Found {
        detail: detail.to_owned(),
        metadata: Map::new(),
        key: String::new(),
        fix: None,
    };
    if condition { vec![found] } else { Vec::new() }
}

/// A setting that should be another: no SQL, but a value to set.
fn setting_if(condition: bool, detail: String, setting: &str, value: &str) -> Vec<Found> {
    let mut found = one_if(condition, &detail);
    for found in &mut found {
        let text = |text: &str| Value::String(text.to_owned());
        found.metadata.insert("type".to_owned(), text("setting"));
        found.metadata.insert("name".to_owned(), text(setting));
        found
            .metadata
            .insert("suggested_value".to_owned(), text(value));
    }
    found
}

fn named(detail: String, name: &str, of_type: &str) -> Found {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), Value::String(name.to_owned()));
    metadata.insert("type".to_owned(), Value::String(of_type.to_owned()));
    Found {
        detail,
        metadata,
        key: name.to_owned(),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_anybody_can_have_are_found() {
        for (pattern, expected) in [
            ("https://*", true),
            ("https://**", true),
            ("https://*.com/**", true),
            ("https://*-preview.vercel.app", true),
            ("https://*.example.com/**", false),
            ("https://example.com/**", false),
            ("http://localhost:3000/**", false),
            ("*", true),
            ("my.app://callback", false),
        ] {
            assert_eq!(has_open_host(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = SQL_CHECKS.iter().map(|check| check.kind.name).collect();
        let of_facts = of_facts(&Facts::default());
        names.extend(of_facts.iter().map(|(kind, _)| kind.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();

        assert_eq!(names.len(), count);
    }
}
