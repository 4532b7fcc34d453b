//! Command-line arguments and their help.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use super::{functions::FunctionsCommand, output::Format, secrets::SecretsCommand};

const EXAMPLES: &str = "\
Examples:
  plinth start                            a whole backend for this folder
  plinth status -o env > .plinth/app.env  its URLs and keys, for your app
  plinth migration new add_todos          a new SQL file to fill in
  plinth migration up                     apply what is pending
  plinth projects create shop             another project in the same server
  plinth branches create try-it           a copy of the project, with its data

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not running, 4 conflict, 5 not permitted.";

/// Accounts, data, realtime, files and functions over one PostgreSQL.
#[derive(Parser)]
#[command(name = "plinth", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args, Clone)]
pub(crate) struct Global {
    /// The project's folder; else the nearest one upwards with supabase/config.toml.
    #[arg(long, global = true, env = "PLINTH_WORKDIR", value_name = "DIR")]
    pub(crate) workdir: Option<PathBuf>,
    /// Where the server keeps its state instead of .plinth/ in the project's folder.
    #[arg(long, global = true, env = "PLINTH_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// A Plinth on another machine; needs PLINTH_ACCESS_TOKEN.
    #[arg(long, global = true, env = "PLINTH_API_URL", value_name = "URL")]
    pub(crate) api_url: Option<String>,
    /// Which project: its ref, `default` or `platform`.
    #[arg(
        long = "ref",
        global = true,
        default_value = "default",
        value_name = "REF"
    )]
    pub(crate) reference: String,
    /// How results are printed.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Pretty)]
    pub(crate) output: Format,
    /// Answer yes to every question.
    #[arg(long, global = true, env = "PLINTH_YES", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) yes: bool,
    /// Show causes of errors.
    #[arg(long, global = true)]
    pub(crate) debug: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a whole backend for this folder.
    ///
    /// Starts a private PostgreSQL (or uses --database-url), creates the default project, applies
    /// supabase/migrations in order, runs the seed once, and serves. Ends with Ctrl-C.
    #[command(
        after_help = "Examples:\n  plinth start\n  plinth start --port auto --detach\n  plinth start --database-url postgresql://admin:secret@db.example/app"
    )]
    Start(StartArgs),
    /// Run in production mode, or one service standalone.
    ///
    /// A standalone service needs no folder: it uses the environment variables, defaults and mount
    /// point of the program that it replaces. `serve rest` replaces PostgREST (PGRST_* and its
    /// configuration file; SIGUSR1 reloads the schema cache, SIGUSR2 the settings), `serve auth`
    /// replaces GoTrue (GOTRUE_*, DATABASE_URL, API_EXTERNAL_URL, PORT; an empty database gets the
    /// schema auth, one that GoTrue created is left unchanged).
    #[command(
        after_help = "Examples:\n  plinth serve\n  PGRST_DB_URI=postgresql://authenticator@db.example/app PGRST_DB_ANON_ROLE=anon plinth serve rest\n  plinth serve rest postgrest.conf\n  plinth serve rest postgrest.conf --dump-config\n  DATABASE_URL=postgresql://admin@db.example/app GOTRUE_SITE_URL=https://app.example API_EXTERNAL_URL=https://api.example/auth/v1 GOTRUE_JWT_SECRET=… plinth serve auth"
    )]
    Serve(ServeArgs),
    /// Stop the server of this folder; its data stays.
    Stop,
    /// Show URLs and keys of a project.
    ///
    /// `-o env` prints NAME="value" lines for eval and dotenv files. Exits with 3 when nothing runs.
    #[command(
        after_help = "Examples:\n  plinth status -o env > .plinth/app.env\n  plinth status -o env --override-name API_URL=VITE_SUPABASE_URL\n  plinth status --ref <ref> -o json"
    )]
    Status(StatusArgs),
    /// Prepare a folder: supabase/config.toml, seed.sql and .gitignore.
    Init(InitArgs),
    /// List, create, pause, resume and delete projects.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth projects create shop -o env > shop.env\n  plinth projects pause <ref>\n  plinth projects delete <ref> --confirm shop"
    )]
    Projects(ProjectsCommand),
    /// List, create, compare, merge and delete branches: copies of a project with its data.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth branches create try-it\n  plinth branches create fix-42 --ref <ref> --git-branch fix-42\n  plinth branches diff try-it\n  plinth branches merge try-it\n  plinth branches delete try-it --yes"
    )]
    Branches(BranchesCommand),
    /// List, create, revoke and rotate keys.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth keys list --reveal\n  plinth keys create secret worker\n  plinth keys rotate --api worker --grace 24h\n  plinth keys rotate --signing"
    )]
    Keys(KeysCommand),
    /// Personal access tokens for the platform API.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth tokens create ci --expires-in 720h\n  plinth tokens create deploy --scope edge_functions_read,edge_functions_write --project default\n  PLINTH_ACCESS_TOKEN=sbp_… plinth --api-url https://api.example.com projects list"
    )]
    Tokens(TokensCommand),
    /// Your SQL migrations in supabase/migrations/.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth migration new add_todos\n  plinth migration up\n  plinth migration list --check"
    )]
    Migration(MigrationCommand),
    /// The project's database.
    #[command(
        subcommand,
        after_help = "Examples:\n  psql \"$(plinth db url)\"\n  plinth db reset --yes"
    )]
    Db(DbCommand),
    /// The files of projects.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth storage check\n  plinth storage check --project <ref> --verify-digests\n  plinth storage check --repair -o json"
    )]
    Storage(StorageCommand),
    /// Your functions: create, deploy, download, roll back.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth functions new hello\n  plinth functions deploy hello\n  plinth functions rollback hello\n  PLINTH_ACCESS_TOKEN=sbp_… plinth --api-url https://api.example.com --ref <ref> functions deploy"
    )]
    Functions(FunctionsCommand),
    /// Environment variables of functions.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth secrets set STRIPE_KEY=sk_… MAIL_FROM=shop@example.com\n  plinth secrets set --env-file supabase/functions/.env\n  plinth secrets set - < secrets.env\n  plinth secrets unset STRIPE_KEY"
    )]
    Secrets(SecretsCommand),
    /// Print the profile that points the official Supabase CLI at this Plinth.
    #[command(
        after_help = "Examples:\n  plinth cli-profile > plinth.yaml\n  SUPABASE_ACCESS_TOKEN=sbp_… supabase --profile ./plinth.yaml projects list"
    )]
    CliProfile,
    /// Generate access tokens, for example to test policies.
    #[command(subcommand)]
    Gen(GenCommand),
    /// Search and follow the log.
    #[command(
        after_help = "Examples:\n  plinth logs -f\n  plinth logs api --since 1h --grep 'status:5xx path:/auth/*'\n  plinth logs postgres --level error -o json"
    )]
    Logs(LogsArgs),
    /// Run all checks and print how to fix problems. Exits with 1 on errors.
    Doctor,
    /// All settings: name, value, source, meaning.
    Settings(SettingsArgs),
    /// Print pages of the documentation that are generated from the code.
    #[command(subcommand, hide = true)]
    Reference(ReferenceCommand),
    /// Print a completion script for your shell.
    #[command(alias = "completion")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Clone, Default)]
pub(crate) struct StartArgs {
    /// API port, or `auto` for a free one, which is used again next time [default: api.port, 54321].
    #[arg(long, value_name = "PORT|auto")]
    pub(crate) port: Option<PortChoice>,
    /// Database port, or `auto` [default: db.port, 54322; auto with --port auto].
    #[arg(long, value_name = "PORT|auto")]
    pub(crate) db_port: Option<PortChoice>,
    /// The address to listen on. Anything but loopback generates the database password.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<IpAddr>,
    /// The address of the database port [default: that of the API; with `serve` and without TLS
    /// 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) db_host: Option<IpAddr>,
    /// Use this PostgreSQL (15 or later) instead of a private one.
    #[arg(
        long,
        env = "PLINTH_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database_url: Option<String>,
    /// Do not apply supabase/migrations and the seed.
    #[arg(long)]
    pub(crate) no_migrate: bool,
    /// Run in the background; returns when the server is ready. `plinth stop` ends it.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Variables of the folder's functions, instead of supabase/functions/.env.
    #[arg(long, value_name = "FILE", value_parser = existing_file)]
    pub(crate) env_file: Option<PathBuf>,
    /// Import map of all functions of the folder.
    #[arg(long, value_name = "FILE", value_parser = existing_file)]
    pub(crate) import_map: Option<PathBuf>,
    /// Do not require a credential for the folder's functions.
    #[arg(long)]
    pub(crate) no_verify_jwt: bool,
    /// Any setting, such as --set auth.site_url=https://app.example. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Assignment>,
}

#[derive(Args, Clone)]
pub(crate) struct ServeArgs {
    /// One standalone service, as a replacement [default: all services].
    #[arg(value_enum)]
    pub(crate) service: Option<ServiceName>,
    /// For `rest`: a configuration file of PostgREST. The environment overrides it.
    #[arg(value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// For `rest`: print all settings except secrets, and exit.
    #[arg(long)]
    pub(crate) dump_config: bool,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServiceName {
    Rest,
    Auth,
    Storage,
    Realtime,
    Functions,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PortChoice {
    Auto,
    Fixed(u16),
}

impl FromStr for PortChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::Fixed)
                .map_err(|_| "expected a port number from 1 to 65535, or auto".to_owned()),
        }
    }
}

/// Relative to the current folder.
fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    if path.is_file() {
        Ok(path)
    } else {
        Err("there is no such file".to_owned())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
        Ok(Self {
            name: name.trim().to_owned(),
            value: value.to_owned(),
        })
    }
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// Print a value under another name, such as API_URL=VITE_SUPABASE_URL. May be repeated.
    #[arg(long, value_name = "NAME=OTHER")]
    pub(crate) override_name: Vec<Assignment>,
}

#[derive(Args)]
pub(crate) struct InitArgs {
    /// Overwrite existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Subcommand)]
pub(crate) enum ProjectsCommand {
    /// All projects.
    List,
    /// Create a project; prints its ref, URL and keys.
    Create {
        /// Display name.
        name: String,
        /// The database owner's password; generated when absent.
        #[arg(long, env = "PLINTH_DB_PASSWORD", hide_env_values = true)]
        db_password: Option<String>,
        /// Give it a PostgreSQL server of its own, apart from all other projects; started on first use,
        /// stopped when idle [default: plinth.isolation.default].
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        isolated: Option<bool>,
    },
    /// Stop serving a project; its data stays.
    Pause {
        /// Its ref.
        project: String,
    },
    /// Serve a paused or deleted project again.
    Resume {
        /// Its ref.
        project: String,
    },
    /// Delete a project. It stays restorable for seven days (`projects resume`).
    Delete {
        /// Its ref.
        project: String,
        /// The project's name, instead of typing it at a prompt.
        #[arg(long, value_name = "NAME")]
        confirm: Option<String>,
        /// Remove it for good, at once.
        #[arg(long)]
        purge: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum BranchesCommand {
    /// The branches of the project given by --ref.
    List,
    /// Copy the project given by --ref, schema and data.
    Create {
        /// Unique among the project's branches.
        name: String,
        /// The Git branch it belongs to.
        #[arg(long)]
        git_branch: Option<String>,
        /// Keep it when its Git branch is merged.
        #[arg(long)]
        persistent: bool,
        /// Terminate psql and other sessions on the source, so that it can be copied quickly.
        /// Otherwise it is dumped and restored while they continue, which takes longer.
        #[arg(long)]
        end_sessions: bool,
        /// Do not wait for a dump and restore.
        #[arg(long)]
        no_wait: bool,
    },
    /// Print the SQL that makes the parent's schema like the branch's.
    Diff {
        /// Its name.
        name: String,
        /// Only these schemas.
        #[arg(long, value_delimiter = ',')]
        schema: Vec<String>,
    },
    /// Bring the branch's migrations, other changes of the schema and functions to its parent; never
    /// rows.
    Merge {
        /// Its name.
        name: String,
        /// Leave the parent's functions as they are.
        #[arg(long)]
        no_functions: bool,
    },
    /// Bring what changed in the parent to the branch.
    Rebase {
        /// Its name.
        name: String,
        /// Whose version to take of what both changed.
        #[arg(long, value_parser = ["branch", "parent"])]
        resolve: Option<String>,
    },
    /// Delete a branch for good.
    Delete {
        /// Its name.
        name: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// API keys and signing keys.
    List {
        /// Show secret keys in full.
        #[arg(long)]
        reveal: bool,
    },
    /// Create an API key; prints it in full.
    Create {
        /// publishable for browsers, secret for servers.
        #[arg(value_enum)]
        kind: KeyKind,
        /// 4 to 64 lower-case letters, digits and underscores.
        name: String,
        /// Free text.
        #[arg(long)]
        description: Option<String>,
    },
    /// Revoke an API key or a signing key at once.
    Revoke {
        /// Its id or name; KIND/NAME where both kinds have it.
        key: String,
    },
    /// Replace a key. Prints what stops working, and when.
    Rotate {
        /// The key that signs tokens; no user is signed out.
        #[arg(long, conflicts_with_all = ["legacy", "api"])]
        signing: bool,
        /// The shared secret: both legacy keys and tokens signed with it become invalid at once.
        #[arg(long, conflicts_with_all = ["signing", "api"])]
        legacy: bool,
        /// An API key, by id or name.
        #[arg(long, value_name = "KEY")]
        api: Option<String>,
        /// Grace period of the old API key, such as 24h.
        #[arg(long, default_value = "0s", value_name = "DURATION")]
        grace: String,
    },
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum KeyKind {
    Publishable,
    Secret,
}

#[derive(Subcommand)]
pub(crate) enum TokensCommand {
    /// All tokens, without their text.
    List,
    /// Create a token; it is shown only once.
    Create {
        /// Its name.
        name: String,
        /// When it expires, such as 720h [default: never].
        #[arg(long, value_name = "DURATION")]
        expires_in: Option<String>,
        /// Its scopes, such as edge_functions_write [default: all].
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
        scopes: Vec<String>,
        /// Its projects, their branches included [default: all].
        #[arg(long = "project", value_name = "REF", value_delimiter = ',')]
        projects: Vec<String>,
        /// Read-only, secrets excluded.
        #[arg(long)]
        read_only: bool,
    },
    /// Revoke a token.
    Revoke {
        /// Its id or name.
        token: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum MigrationCommand {
    /// Create an empty file in supabase/migrations; piped text becomes its content.
    New {
        /// What it does, such as add_todos.
        name: String,
    },
    /// List local files and applied migrations.
    List {
        /// Exit with 4 when the two sides differ.
        #[arg(long)]
        check: bool,
    },
    /// Apply pending files in order, one transaction each.
    Up {
        /// Also files older than the newest applied one.
        #[arg(long)]
        include_all: bool,
        /// Stop after this version.
        #[arg(long, value_name = "VERSION")]
        to: Option<String>,
    },
}

#[derive(Subcommand)]
pub(crate) enum DbCommand {
    /// Recreate the database: drop everything, apply all migrations, run the seed.
    Reset {
        /// Stop after this migration.
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        /// Do not run the seed.
        #[arg(long)]
        no_seed: bool,
    },
    /// Print the connection string.
    Url,
    /// What could be more secure or faster, with the SQL that fixes it.
    Advisors {
        /// Only findings at least as bad: error, warn or info.
        #[arg(long, default_value = "info", value_parser = ["error", "warn", "info"])]
        level: String,
        /// Exit with 1 if there is a finding at least as bad.
        #[arg(long, value_parser = ["error", "warn", "info"])]
        fail_on: Option<String>,
    },
    /// Set the password of the database, and print the new connection string.
    Password {
        /// A password of your choice [default: a generated one].
        password: Option<String>,
    },
}

#[derive(Subcommand)]
pub(crate) enum StorageCommand {
    /// Compare object rows with stored blobs: find missing, damaged and orphaned blobs.
    ///
    /// Works with and without a running server. Exits with 1 if problems are found. Garbage is
    /// collected first, as the server does every few minutes.
    Check(CheckArgs),
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Only this project: its ref, `default` or `platform` [default: all].
    #[arg(long, value_name = "REF")]
    pub(crate) project: Option<String>,
    /// Read every blob and compare its digest.
    #[arg(long)]
    pub(crate) verify_digests: bool,
    /// Mark orphaned blobs for garbage collection, which removes them after its grace period. Rows
    /// are not changed.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The same as -o json.
    #[arg(long)]
    pub(crate) json: bool,
    /// Without a running server: the external PostgreSQL that it uses.
    #[arg(
        long,
        env = "PLINTH_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database_url: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum GenCommand {
    /// Sign an access token with the project's key; prints it alone.
    BearerJwt {
        /// The Postgres role it acts as.
        #[arg(long, default_value = "authenticated")]
        role: String,
        /// The `sub` claim, a user's id.
        #[arg(long)]
        sub: Option<String>,
        /// How long it is valid, such as 30m.
        #[arg(long, default_value = "1h", value_name = "DURATION")]
        valid_for: String,
        /// Additional claims as a JSON object.
        #[arg(long, value_name = "JSON")]
        payload: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct LogsArgs {
    /// Sources: api, auth, rest, postgres, storage, realtime, functions, jobs, audit.
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: RecordFilter,
}

/// Filter of log records.
#[derive(Args)]
pub(crate) struct RecordFilter {
    /// Follow: print new records as they arrive.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Newer than this, such as 1h or 30m.
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// Search terms, such as 'status:5xx path:/auth/*'.
    #[arg(long, value_name = "TERMS")]
    pub(crate) grep: Option<String>,
    /// This level or worse: debug, info, warn, error.
    #[arg(long)]
    pub(crate) level: Option<String>,
    /// Maximum number of records.
    #[arg(short = 'n', long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(Subcommand)]
pub(crate) enum ReferenceCommand {
    /// docs/errors.md: error codes of all services and exit codes.
    Errors,
    /// docs/settings.md: every setting.
    Settings,
    /// Man pages of all commands, written into a folder.
    Man {
        /// Created if it is missing.
        folder: PathBuf,
    },
}

#[derive(Args)]
pub(crate) struct SettingsArgs {
    /// Only settings whose name contains this.
    pub(crate) filter: Option<String>,
}

pub(crate) fn completion_script(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "plinth", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes `plinth.1` and a page per command that is not hidden.
pub(crate) fn write_man_pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ports_are_numbers_or_auto() {
        assert_eq!("auto".parse(), Ok(PortChoice::Auto));
        assert_eq!("8080".parse(), Ok(PortChoice::Fixed(8080)));
        assert!("http".parse::<PortChoice>().is_err());
        assert!("70000".parse::<PortChoice>().is_err());
    }
}
