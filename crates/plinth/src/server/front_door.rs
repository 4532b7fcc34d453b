//! Who is meant by the users and databases that tools ask for (console contract F50).

use plinth_platform::References;
use plinth_postgres::{Route, Routed};
use plinth_project::{LoginKind, ProjectRef};

/// `postgres` is the default project's owner, `postgres.<ref>` that project's; others pass.
pub(super) struct Router {
    references: References,
}

impl Router {
    pub(super) fn new(references: References) -> Self {
        Self { references }
    }
}

impl Route for Router {
    fn route(&self, user: &str, database: &str) -> Routed {
        let unchanged = || Routed {
            user: user.to_owned(),
            database: database.to_owned(),
        };
        if user == "postgres" && database == "postgres" {
            let user = LoginKind::Owner.role_name(&self.references.default);
            return Routed {
                user,
                database: "postgres".to_owned(),
            };
        }
        let Some(suffix) = user.strip_prefix("postgres.") else {
            return unchanged();
        };
        let reference = match suffix {
            "default" => Some(self.references.default.clone()),
            "platform" => Some(self.references.platform.clone()),
            text => text.parse::<ProjectRef>().ok(),
        };
        match reference {
            None => unchanged(),
            Some(reference) => {
                let database = match reference == self.references.default {
                    true => "postgres".to_owned(),
                    false => reference.to_string(),
                };
                Routed {
                    user: LoginKind::Owner.role_name(&reference),
                    database,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: (&str, &str), expected: (&str, &str)) {
        let parse = |text: &str| text.parse::<ProjectRef>().expect("a ref");
        let references = References {
            platform: parse("pppppppppppppppppppp"),
            default: parse("dddddddddddddddddddd"),
        };
        let routed = Router::new(references).route(asked.0, asked.1);
        assert_eq!((routed.user.as_str(), routed.database.as_str()), expected);
    }

    #[test]
    fn tools_reach_the_project_they_mean() {
        check(
            ("postgres", "postgres"),
            ("owner_dddddddddddddddddddd", "postgres"),
        );
        check(
            ("postgres.aaaaaaaaaaaaaaaaaaaa", "postgres"),
            ("owner_aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa"),
        );
        check(
            ("postgres.default", "postgres"),
            ("owner_dddddddddddddddddddd", "postgres"),
        );
    }

    #[test]
    fn other_pairs_pass_as_they_are() {
        check(
            ("postgres.nonsense", "postgres"),
            ("postgres.nonsense", "postgres"),
        );
        check(("somebody", "postgres"), ("somebody", "postgres"));
        check(("postgres", "other"), ("postgres", "other"));
    }
}
