//! The command line. Each command is a client of the platform API, except those that work without a
//! server: `start`, `serve`, `init`, `migration new`, `functions new`, `settings`, `storage check`,
//! `reference`, `completions`.

mod admin;
mod args;
mod branches;
mod cli_profile;
mod client;
mod db;
mod doctor;
mod functions;
mod generate;
mod init;
mod keys;
mod logs;
mod migration;
mod output;
mod projects;
mod reference;
mod secrets;
mod settings;
mod status;
mod stop;
mod storage;
mod tokens;

pub(crate) use args::{
    Assignment, Cli, Command, Global, PortChoice, ServeArgs, ServiceName, StartArgs,
};
pub(crate) use client::{Client, not_running};
pub(crate) use output::{Format, print_pairs};

use crate::{failure::Outcome, server};

/// Runs the command. Servers create their own runtime; a client needs one thread.
pub(crate) fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Start(args) => server::start(&cli.global, args),
        Command::Serve(args) => server::serve(&cli.global, args),
        command => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(run_client(&cli.global, command))
        }
    }
}

async fn run_client(global: &Global, command: Command) -> Outcome {
    match command {
        Command::Start(_) | Command::Serve(_) => unreachable!("handled by the caller"),
        Command::Stop => stop::run(global).await,
        Command::Status(args) => status::run(global, args).await,
        Command::Init(args) => init::run(global, args),
        Command::Projects(command) => projects::run(global, command).await,
        Command::Branches(command) => branches::run(global, command).await,
        Command::Keys(command) => keys::run(global, command).await,
        Command::Tokens(command) => tokens::run(global, command).await,
        Command::Admin(command) => admin::run(global, command).await,
        Command::Migration(command) => migration::run(global, command).await,
        Command::Db(command) => db::run(global, command).await,
        Command::Storage(command) => storage::run(global, command).await,
        Command::Functions(command) => functions::run(global, command).await,
        Command::Secrets(command) => secrets::run(global, command).await,
        Command::CliProfile => cli_profile::run(global).await,
        Command::Gen(command) => generate::run(global, command).await,
        Command::Logs(args) => logs::run(global, args).await,
        Command::Doctor => doctor::run(global).await,
        Command::Settings(args) => settings::run(global, args),
        Command::Reference(command) => reference::run(command),
        Command::Completions { shell } => output::print(&args::completion_script(shell)),
    }
}
