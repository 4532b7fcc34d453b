//! A registry without PostgreSQL: projects in memory, and a stand-in that speaks just enough of
//! the database protocol for a project to be opened.

use std::{collections::HashMap, sync::Arc};

use plinth_db::{DbError, PoolConfig, Target};
use plinth_log::LogStore;
use plinth_project::{
    ApiKey, BoxFuture, Cluster, ConnectionSlots, Directory, DirectoryError, Logins, ProjectKeys,
    ProjectKind, ProjectName, ProjectRecord, ProjectRef, ProjectServer, ProjectStatus, Registry,
    RegistryParts, ServerName,
};
use plinth_settings::Settings;
use plinth_token::{ApiKeyKind, KeySet, SigningKey, credential_hash};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub const DEFAULT: &str = "ddddddddddddddddddda";
pub const PLATFORM: &str = "ppppppppppppppppppza";
pub const PAUSED: &str = "pausedpausedpausedpa";
pub const COMING_UP: &str = "cominguppcominguppco";
pub const UNAVAILABLE: &str = "unavailableunavailab";
pub const BROKEN: &str = "brokenbrokenbrokenbr";

const JWT_SECRET: &[u8] = b"a secret of at least thirty-two bytes";
const SECRET_KEY: &str = "sb_secret_for_these_tests_only";
const USER: &str = "11111111-1111-1111-1111-111111111111";

/// The access token of a user.
pub fn user_token() -> String {
    let key = SigningKey::from_shared_secret(JWT_SECRET, None).expect("a key");
    let claims = json!({ "sub": USER, "role": "authenticated", "exp": 4_000_000_000_i64 });
    key.sign(&claims).expect("a token")
}

/// An opaque key of the role `service_role`.
pub fn secret_key() -> &'static str {
    SECRET_KEY
}

pub async fn registry(logs: LogStore) -> Registry {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(play_database(stream));
        }
    });
    let url = format!("postgresql://admin@127.0.0.1:{port}/postgres?sslmode=disable");
    Registry::new(RegistryParts {
        directory: Arc::new(Projects),
        servers: Arc::new(ProjectServer::permanent(
            Target::from_url(&url).expect("a URL"),
            Cluster {
                version_num: 180_000,
                admin: "admin".to_owned(),
                is_superuser: true,
                has_owner_logins: true,
                is_managed: false,
                connection_slots: ConnectionSlots {
                    max: 100,
                    superuser_reserved: 3,
                    reserved: 0,
                },
                login_limits: None,
            },
        )),
        schemas: Vec::new(),
        pool: PoolConfig::default(),
        logs,
        settings_for: Box::new(|_| Ok(Settings::default())),
    })
}

struct Projects;

impl Directory for Projects {
    fn find<'a>(
        &'a self,
        name: &'a ProjectName,
    ) -> BoxFuture<'a, Result<Option<ProjectRecord>, DirectoryError>> {
        Box::pin(std::future::ready(find(name)))
    }
}

fn find(name: &ProjectName) -> Result<Option<ProjectRecord>, DirectoryError> {
    let text = match name {
        ProjectName::Default => DEFAULT,
        ProjectName::Platform => PLATFORM,
        ProjectName::Ref(reference) => reference.as_str(),
    };
    let reference: ProjectRef = text.parse().expect("a ref");
    let (kind, status) = match text {
        DEFAULT => (ProjectKind::Default, ProjectStatus::ActiveHealthy),
        PLATFORM => (ProjectKind::Platform, ProjectStatus::ActiveHealthy),
        PAUSED => (ProjectKind::Ordinary, ProjectStatus::Inactive),
        COMING_UP => (ProjectKind::Ordinary, ProjectStatus::ComingUp),
        UNAVAILABLE => return Err(DirectoryError::Database(DbError::PoolTimeout)),
        BROKEN => {
            let reason = "the seal does not open".to_owned();
            return Err(DirectoryError::Unreadable { reference, reason });
        }
        _ => return Ok(None),
    };
    let key = ApiKey::new(uuid::Uuid::nil(), "tests", ApiKeyKind::Secret);
    let keyset = KeySet::builder().legacy_secret(JWT_SECRET).build();
    let keyset = keyset.expect("a key set");
    Ok(Some(ProjectRecord {
        reference,
        name: text.to_owned(),
        kind,
        status,
        server: ServerName::Shared,
        database: "postgres".to_owned(),
        logins: Logins::generate(),
        keys: ProjectKeys {
            api_keys: HashMap::from([(credential_hash(SECRET_KEY), Arc::new(key))]),
            ..ProjectKeys::new(keyset)
        },
        settings: serde_json::Map::new(),
    }))
}

/// Accepts every login and answers every query with one row that holds `true`.
async fn play_database(mut stream: TcpStream) -> Option<()> {
    let length = stream.read_u32().await.ok()?;
    let mut startup = vec![0; usize::try_from(length).ok()?.checked_sub(4)?];
    stream.read_exact(&mut startup).await.ok()?;
    stream
        .write_all(&[message(b'R', &[0; 4]), ready()].concat())
        .await
        .ok()?;
    let mut response = Vec::new();
    loop {
        let kind = stream.read_u8().await.ok()?;
        let length = usize::try_from(stream.read_u32().await.ok()?)
            .ok()?
            .checked_sub(4)?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        match kind {
            b'P' => response.extend(message(b'1', &[])),
            b'D' => {
                response.extend(message(b't', &[0; 2]));
                // One column named "b", no table, type bool (16), one byte, binary.
                let column = b"\0\x01b\0\0\0\0\0\0\0\0\0\0\x10\0\x01\xff\xff\xff\xff\0\x01";
                response.extend(message(b'T', column));
            }
            b'B' => response.extend(message(b'2', &[])),
            b'E' => {
                response.extend(message(b'D', b"\0\x01\0\0\0\x01\x01"));
                response.extend(message(b'C', b"SELECT 1\0"));
            }
            b'S' => {
                response.extend(ready());
                stream.write_all(&response).await.ok()?;
                response.clear();
            }
            _ => {}
        }
    }
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind][..], &length.to_be_bytes(), body].concat()
}
