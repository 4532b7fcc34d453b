//! What can be typed, and the help that teaches it.

use std::{net::IpAddr, path::PathBuf, str::FromStr};

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use super::{functions::FunctionsCommand, output::Format, secrets::SecretsCommand};

const EXAMPLES: &str = "\
Examples:
  plinth start                        a whole backend for this folder
  plinth status -o env > .env.local   its URLs and keys, for your app
  plinth migration new add_todos      a new SQL file to fill in
  plinth migration up                 apply what is pending
  plinth projects create shop         another project in the same server
  plinth branches create try-it       a copy of the project, with its data

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
    /// Run in production form, or one service alone.
    ///
    /// A service alone needs no folder: it takes the environment names, defaults and mount point
    /// of the program that it replaces. `serve rest` stands in for PostgREST (PGRST_* and its
    /// configuration file; SIGUSR1 reloads the schema, SIGUSR2 the settings), `serve auth` for
    /// GoTrue (GOTRUE_*, DATABASE_URL, API_EXTERNAL_URL, PORT; an empty database gets the schema
    /// auth, one that GoTrue made stays as it is).
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
        after_help = "Examples:\n  plinth status -o env > .env.local\n  plinth status -o env --override-name API_URL=VITE_SUPABASE_URL\n  plinth status --ref <ref> -o json"
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
    /// List, create and delete branches: copies of a project with its data.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth branches create try-it\n  plinth branches create fix-42 --ref <ref> --git-branch fix-42\n  plinth branches delete try-it --yes"
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
    /// Your functions: write, deploy, download, go back to an older version.
    #[command(
        subcommand,
        after_help = "Examples:\n  plinth functions new hello\n  plinth functions deploy hello\n  plinth functions rollback hello\n  PLINTH_ACCESS_TOKEN=sbp_… plinth --api-url https://api.example.com --ref <ref> functions deploy"
    )]
    Functions(FunctionsCommand),
    /// What functions receive in their environment.
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
    /// Generate things: tokens to try policies with.
    #[command(subcommand)]
    Gen(GenCommand),
    /// Search and follow the log.
    #[command(
        after_help = "Examples:\n  plinth logs -f\n  plinth logs api --since 1h --grep 'status:5xx path:/auth/*'\n  plinth logs postgres --level error -o json"
    )]
    Logs(LogsArgs),
    /// Check each part; say what is wrong and how to fix it. Exits with 1 if something is broken.
    Doctor,
    /// Every setting: name, value, where it comes from, what it means.
    Settings(SettingsArgs),
    /// Print a completion script for your shell.
    Completion {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Clone, Default)]
pub(crate) struct StartArgs {
    /// API port, or `auto` for a free one that is remembered [default: api.port, 54321].
    #[arg(long, value_name = "PORT|auto")]
    pub(crate) port: Option<PortChoice>,
    /// Database port, or `auto` [default: db.port, 54322; auto with --port auto].
    #[arg(long, value_name = "PORT|auto")]
    pub(crate) db_port: Option<PortChoice>,
    /// The address to listen on. Anything but loopback generates the database password.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<IpAddr>,
    /// Use this PostgreSQL (15 or later) instead of a private one.
    #[arg(
        long,
        env = "PLINTH_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database_url: Option<String>,
    /// Leave supabase/migrations and the seed alone.
    #[arg(long)]
    pub(crate) no_migrate: bool,
    /// Go to the background once everything runs; `plinth stop` ends it.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Variables of the folder's functions, instead of supabase/functions/.env.
    #[arg(long, value_name = "FILE", value_parser = existing_file)]
    pub(crate) env_file: Option<PathBuf>,
    /// Import map of all functions of the folder.
    #[arg(long, value_name = "FILE", value_parser = existing_file)]
    pub(crate) import_map: Option<PathBuf>,
    /// Let anybody call the folder's functions.
    #[arg(long)]
    pub(crate) no_verify_jwt: bool,
    /// Any setting, as in --set auth.site_url=https://app.example. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Assignment>,
}

#[derive(Args, Clone)]
pub(crate) struct ServeArgs {
    /// One service alone, in place of the program that it replaces. Without it: everything.
    #[arg(value_enum)]
    pub(crate) service: Option<ServiceName>,
    /// For `rest`: a configuration file of PostgREST. The environment wins over it.
    #[arg(value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// For `rest`: print all settings and end. Secrets are left out.
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

/// Relative ones are relative to where the command is given.
fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    match path.is_file() {
        true => Ok(path),
        false => Err("there is no such file".to_owned()),
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
    /// Print a value under another name, as in API_URL=VITE_SUPABASE_URL. May be repeated.
    #[arg(long, value_name = "NAME=OTHER")]
    pub(crate) override_name: Vec<Assignment>,
}

#[derive(Args)]
pub(crate) struct InitArgs {
    /// Overwrite what is there.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Subcommand)]
pub(crate) enum ProjectsCommand {
    /// All projects.
    List,
    /// Make a project; prints its ref, URL and keys.
    Create {
        /// What people call it.
        name: String,
        /// The database owner's password; generated when absent.
        #[arg(long, env = "PLINTH_DB_PASSWORD", hide_env_values = true)]
        db_password: Option<String>,
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
        /// The project's name, which is otherwise asked for.
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
        /// It outlives its purpose.
        #[arg(long)]
        persistent: bool,
        /// End psql and other sessions on the source, so that its files can be copied. Otherwise
        /// it is dumped and restored while they go on, which takes longer.
        #[arg(long)]
        end_sessions: bool,
        /// Do not wait for a branch that is being dumped and restored.
        #[arg(long)]
        no_wait: bool,
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
    /// Make an API key; prints it in full.
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
    /// End an API key or a signing key at once.
    Revoke {
        /// Its id or name; KIND/NAME where both kinds have it.
        key: String,
    },
    /// Replace a key. Says what stops working, and when.
    Rotate {
        /// The key that signs tokens; nobody is signed out.
        #[arg(long, conflicts_with_all = ["legacy", "api"])]
        signing: bool,
        /// The shared secret: both legacy keys and tokens signed with it end at once.
        #[arg(long, conflicts_with_all = ["signing", "api"])]
        legacy: bool,
        /// An API key, by id or name.
        #[arg(long, value_name = "KEY")]
        api: Option<String>,
        /// How long the old API key goes on working, as in 24h.
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
    /// Make a token; it is shown this once.
    Create {
        /// What it is for.
        name: String,
        /// When it ends by itself, as in 720h.
        #[arg(long, value_name = "DURATION")]
        expires_in: Option<String>,
        /// What it may do, as in edge_functions_write; everything when none is named.
        #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
        scopes: Vec<String>,
        /// The projects that it is bound to, with their branches; all when none is named.
        #[arg(long = "project", value_name = "REF", value_delimiter = ',')]
        projects: Vec<String>,
        /// It may only look, and not at secrets.
        #[arg(long)]
        read_only: bool,
    },
    /// End a token.
    Revoke {
        /// Its id or name.
        token: String,
    },
}

#[derive(Subcommand)]
pub(crate) enum MigrationCommand {
    /// Make an empty file in supabase/migrations; text from a pipe becomes its content.
    New {
        /// What it does, as in add_todos.
        name: String,
    },
    /// Which files are here, which are applied.
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
    /// Make the database anew: drop everything, apply all migrations, run the seed.
    Reset {
        /// Stop after this migration.
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
        /// Leave the seed out.
        #[arg(long)]
        no_seed: bool,
    },
    /// Print the connection string.
    Url,
}

#[derive(Subcommand)]
pub(crate) enum StorageCommand {
    /// Compare rows and bytes: does every file have its bytes, and do all bytes have an owner?
    ///
    /// Works while the server runs, and also when it does not. Exits with 1 if something is wrong.
    /// Bytes whose time is over are collected first, as the server does every few minutes.
    Check(CheckArgs),
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Only this project: its ref, `default` or `platform` [default: all].
    #[arg(long, value_name = "REF")]
    pub(crate) project: Option<String>,
    /// Read every byte and compare it with its digest.
    #[arg(long)]
    pub(crate) verify_digests: bool,
    /// Hand bytes that nothing names to the collector, which removes them after its grace. Rows
    /// stay as they are.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The same as -o json.
    #[arg(long)]
    pub(crate) json: bool,
    /// Without a server: the PostgreSQL that it was started with.
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
        /// Whose it is: the `sub` claim, a user's id.
        #[arg(long)]
        sub: Option<String>,
        /// How long it is good, as in 30m.
        #[arg(long, default_value = "1h", value_name = "DURATION")]
        valid_for: String,
        /// More claims as a JSON object.
        #[arg(long, value_name = "JSON")]
        payload: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct LogsArgs {
    /// Sources: api, auth, rest, postgres, storage, realtime, functions, jobs, audit.
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) wanted: WantedRecords,
}

/// Which records, whatever they are about.
#[derive(Args)]
pub(crate) struct WantedRecords {
    /// Go on showing what comes.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// From when on, as in 1h or 30m.
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<String>,
    /// Terms to look for, as in 'status:5xx path:/auth/*'.
    #[arg(long, value_name = "TERMS")]
    pub(crate) grep: Option<String>,
    /// This level or worse: debug, info, warn, error.
    #[arg(long)]
    pub(crate) level: Option<String>,
    /// How many records.
    #[arg(short = 'n', long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[derive(Args)]
pub(crate) struct SettingsArgs {
    /// Only settings whose name contains this.
    pub(crate) filter: Option<String>,
}

pub(crate) fn print_completion(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "plinth", &mut std::io::stdout());
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
