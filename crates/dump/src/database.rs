//! The database itself: `create database` options, owner and privileges.

use plinth_db::{QuotedIdent, QuotedLiteral};
use tokio_postgres::Client;

use crate::DumpError;

/// Options of `create database`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseProperties {
    encoding: String,
    collate: String,
    ctype: String,
    provider: Provider,
    locale: Option<String>,
    rules: Option<String>,
    tablespace: Option<String>,
    owner: String,
    connection_limit: i32,
    grants: Vec<Grant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Libc,
    Icu,
    Builtin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    role: String,
    privilege: String,
    with_grant_option: bool,
}

const PROPERTIES: &str = "
    select pg_encoding_to_char(d.encoding)::text as encoding, d.datcollate::text as collate,
           d.datctype::text as ctype, d.datlocprovider::text as provider,
           coalesce(j ->> 'datlocale', j ->> 'daticulocale') as locale,
           j ->> 'daticurules' as rules,
           (select s.spcname::text from pg_tablespace s
            where s.oid = d.dattablespace and s.spcname <> 'pg_default') as tablespace,
           pg_get_userbyid(d.datdba)::text as owner, d.datconnlimit as connection_limit
    from pg_database d
    cross join lateral to_jsonb(d) j
    where d.datname = $1";

const GRANTS: &str = "
    select pg_get_userbyid(e.grantee)::text as role, e.privilege_type as privilege, e.is_grantable
    from pg_database d
    cross join lateral aclexplode(d.datacl) e
    where d.datname = $1 and e.grantee not in (0, d.datdba)
    order by 1, 2";

impl DatabaseProperties {
    /// Reads them for any database of the cluster.
    pub async fn read(client: &Client, database: &str) -> Result<Self, DumpError> {
        let row = client.query_one(PROPERTIES, &[&database]).await?;
        let grants = client.query(GRANTS, &[&database]).await?;
        let grant = |row: &tokio_postgres::Row| Grant {
            role: row.get("role"),
            privilege: row.get("privilege"),
            with_grant_option: row.get("is_grantable"),
        };
        Ok(Self {
            encoding: row.get("encoding"),
            collate: row.get("collate"),
            ctype: row.get("ctype"),
            provider: match row.get::<_, &str>("provider") {
                "i" => Provider::Icu,
                "b" => Provider::Builtin,
                _ => Provider::Libc,
            },
            locale: row.get("locale"),
            rules: row.get("rules"),
            tablespace: row.get("tablespace"),
            owner: row.get("owner"),
            connection_limit: row.get("connection_limit"),
            grants: grants.iter().map(grant).collect(),
        })
    }

    /// Creates an empty database with these options under another name, owned by the current role.
    pub fn create_sql(&self, name: &str) -> String {
        let literal = |text: &str| QuotedLiteral::new(text).to_string();
        let mut sql = format!(
            "create database {} template template0 encoding {} lc_collate {} lc_ctype {}",
            QuotedIdent::new(name),
            literal(&self.encoding),
            literal(&self.collate),
            literal(&self.ctype),
        );
        let locale = self.locale.as_deref().unwrap_or_default();
        match self.provider {
            Provider::Libc => sql.push_str(" locale_provider libc"),
            Provider::Icu => {
                sql.push_str(&format!(
                    " locale_provider icu icu_locale {}",
                    literal(locale)
                ));
            }
            Provider::Builtin => {
                sql.push_str(&format!(
                    " locale_provider builtin builtin_locale {}",
                    literal(locale)
                ));
            }
        }
        if let Some(rules) = self.rules.as_deref().filter(|rules| !rules.is_empty()) {
            sql.push_str(&format!(" icu_rules {}", literal(rules)));
        }
        if let Some(tablespace) = &self.tablespace {
            sql.push_str(&format!(" tablespace {}", QuotedIdent::new(tablespace)));
        }
        if self.connection_limit >= 0 {
            sql.push_str(&format!(" connection limit {}", self.connection_limit));
        }
        sql.push(';');
        sql
    }

    /// Transfers another database to the owner of this one.
    pub fn owner_sql(&self, name: &str) -> String {
        format!(
            "alter database {} owner to {};",
            QuotedIdent::new(name),
            QuotedIdent::new(&self.owner)
        )
    }

    /// Grants the privileges on this database for another one, without those of PUBLIC and of roles for
    /// which `is_left_out` is true.
    pub fn grants_sql(&self, name: &str, is_left_out: impl Fn(&str) -> bool) -> String {
        let name = QuotedIdent::new(name);
        self.grants
            .iter()
            .filter(|grant| !is_left_out(&grant.role))
            .map(|grant| {
                format!(
                    "grant {} on database {name} to {}{};\n",
                    grant.privilege.to_lowercase(),
                    QuotedIdent::new(&grant.role),
                    if grant.with_grant_option {
                        " with grant option"
                    } else {
                        ""
                    }
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties() -> DatabaseProperties {
        DatabaseProperties {
            encoding: "UTF8".to_owned(),
            collate: "C".to_owned(),
            ctype: "C".to_owned(),
            provider: Provider::Libc,
            locale: None,
            rules: None,
            tablespace: None,
            owner: "it's me".to_owned(),
            connection_limit: -1,
            grants: vec![
                Grant {
                    role: "reader".to_owned(),
                    privilege: "CONNECT".to_owned(),
                    with_grant_option: true,
                },
                Grant {
                    role: "owner_x".to_owned(),
                    privilege: "CONNECT".to_owned(),
                    with_grant_option: false,
                },
            ],
        }
    }

    #[test]
    fn a_copy_has_the_locale_and_owner_of_its_source() {
        assert_eq!(
            properties().create_sql("copy"),
            "create database \"copy\" template template0 encoding 'UTF8' lc_collate 'C' \
             lc_ctype 'C' locale_provider libc;"
        );
        assert_eq!(
            properties().owner_sql("copy"),
            "alter database \"copy\" owner to \"it's me\";"
        );
        let icu = DatabaseProperties {
            provider: Provider::Icu,
            locale: Some("de-DE".to_owned()),
            ..properties()
        };
        assert!(
            icu.create_sql("copy")
                .contains("locale_provider icu icu_locale 'de-DE'")
        );
    }

    #[test]
    fn rights_are_carried_over_but_for_roles_left_out() {
        assert_eq!(
            properties().grants_sql("copy", |role| role == "owner_x"),
            "grant connect on database \"copy\" to \"reader\" with grant option;\n"
        );
    }
}
