//! The block that a start ends on.

use std::io::IsTerminal;

use plinth_platform::Status;

const LINES: &[(&str, &str)] = &[
    ("API URL", "API_URL"),
    ("Database URL", "DB_URL"),
    ("Web URL", "STUDIO_URL"),
    ("Publishable key", "PUBLISHABLE_KEY"),
    ("Secret key", "SECRET_KEY"),
    ("anon key", "ANON_KEY"),
    ("service_role key", "SERVICE_ROLE_KEY"),
];

/// Secrets are shown on a terminal only: what is piped somewhere tends to stay there.
pub(super) fn print(status: &Status, took: std::time::Duration) {
    let is_terminal = std::io::stdout().is_terminal();
    println!(
        "\nPlinth is running (ready in {:.1} s).\n",
        took.as_secs_f64()
    );
    for (title, name) in LINES {
        let value = status.get(name).unwrap_or_default();
        let is_secret = matches!(*name, "SECRET_KEY" | "SERVICE_ROLE_KEY");
        let shown = match is_secret && !is_terminal {
            true => "(hidden; `plinth status` shows it)".to_owned(),
            false => value.to_owned(),
        };
        println!("  {title:>16}  {shown}");
    }
    println!("\nStop with Ctrl-C or `plinth stop`.");
}
