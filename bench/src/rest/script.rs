//! What Plinth sent for one request, as a script for pgbench.

use anyhow::ensure;

use super::{
    database::{FIRST_ID, ITEMS},
    recorder::Sent,
};
use crate::pgbench::{Script, with_names};

/// The same statements with the same values, but for the row's id, which is drawn anew.
pub(crate) fn script(sent: &[Sent], id: i32) -> anyhow::Result<Script> {
    let id = id.to_string();
    let is_about_row = |sent: &Sent| sent.has_value(&id);
    let is_text = |sent: &Sent| sent.values.iter().all(Option::is_some);
    ensure!(
        sent.iter().all(is_text),
        "not all values are text: {sent:?}"
    );
    ensure!(
        sent.iter().filter(|sent| is_about_row(sent)).count() == 1,
        "not exactly one statement is about row {id}: {sent:?}"
    );
    let last = FIRST_ID + ITEMS - 1;
    let mut transaction = format!("\\set wanted random({FIRST_ID}, {last})\n");
    let mut check = transaction.clone();
    let mut values = Vec::new();
    for (number, sent) in sent.iter().enumerate() {
        let sql = with_names(&sent.sql, |parameter| {
            match sent.values.get(parameter - 1) {
                Some(Some(value)) if *value == id => ":wanted".to_owned(),
                _ => format!(":v{number}_{parameter}"),
            }
        });
        transaction.push_str(&format!("{sql};\n"));
        check.push_str(&if is_about_row(sent) {
            format!("{}\n\\gset\n", or_fail(&sql))
        } else {
            format!("{sql};\n")
        });
        let values_sent = (1..).zip(sent.values.iter().flatten());
        let named = values_sent.filter(|(_, value)| **value != id);
        values.extend(named.map(|(i, value)| (format!("v{number}_{i}"), value.clone())));
    }
    Ok(Script {
        transaction,
        check,
        values,
    })
}

/// Divides by zero unless the response holds the row.
fn or_fail(sql: &str) -> String {
    format!(
        "select 1 / (pg_catalog.strpos(answer::text, 'item ' || :wanted) > 0)::int as is_right \
         from ({sql}) as answer"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(sql: &str, values: &[&str]) -> Sent {
        Sent {
            sql: sql.to_owned(),
            values: values.iter().map(|&value| Some(value.to_owned())).collect(),
        }
    }

    #[test]
    fn only_the_id_varies() {
        let recorded = [
            sent("begin", &[]),
            sent("select set_config($1,$2,true)", &["role", "anon"]),
            sent("select x from items where id = $1", &["123456"]),
            sent("commit", &[]),
        ];
        let script = script(&recorded, 123_456).unwrap();
        assert_eq!(
            script.transaction,
            "\\set wanted random(100001, 200000)\nbegin;\nselect set_config(:v1_1,:v1_2,true);\n\
             select x from items where id = :wanted;\ncommit;\n"
        );
        let values = [("v1_1", "role"), ("v1_2", "anon")];
        assert_eq!(
            script.values,
            values.map(|(n, v)| (n.to_owned(), v.to_owned()))
        );
        assert!(
            script
                .check
                .contains("from (select x from items where id = :wanted) as answer\n\\gset\n")
        );
    }

    #[test]
    fn a_transaction_about_no_row_is_rejected() {
        assert!(script(&[sent("begin", &[]), sent("commit", &[])], 123_456).is_err());
    }
}
