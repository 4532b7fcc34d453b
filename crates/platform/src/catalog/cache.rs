//! Lists of objects by project, and the session that tells when they are outdated.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use moka::sync::Cache;
use plinth_catalog::{
    objects::{Column, Object, Table},
    read::{self, ReadError, Scope},
    schema,
};
use plinth_project::{DatabaseAccess, Project, ProjectRef, StandingSession};
use tokio::sync::Mutex;

use super::CatalogError;

/// Without requests for this long, the session is closed.
const IDLE: Duration = Duration::from_secs(60);
/// For this long sizes of tables are not measured again: that costs a few calls of the operating system
/// for each.
const MAX_SIZE_AGE: Duration = Duration::from_secs(3);
/// Sessions at once; the least recently used are closed.
const MAX_SESSIONS: u64 = 64;
/// A function that formats an object may wait for whoever has locked it.
const SETTINGS: &str = "set lock_timeout = '5s'; set statement_timeout = '30s'; set jit = off";

type Key = (ProjectRef, Role);

/// A [`DatabaseAccess`] that can be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Owner,
    Editor,
    Reader,
}

impl From<DatabaseAccess> for Role {
    fn from(access: DatabaseAccess) -> Self {
        match access {
            DatabaseAccess::Owner => Self::Owner,
            DatabaseAccess::Editor => Self::Editor,
            DatabaseAccess::Reader => Self::Reader,
        }
    }
}

/// The lists of all projects.
pub(crate) struct Catalogs(Cache<Key, Arc<Mutex<Entry>>>);

/// What is known of one project's database, as one role sees it.
#[derive(Default)]
struct Entry {
    session: Option<Session>,
}

struct Session {
    standing: StandingSession,
    is_announced: bool,
    lists: HashMap<(TypeId, bool), List>,
}

struct List {
    objects: Box<dyn Any + Send + Sync>,
    /// What [`StandingSession::changes`] was before they were read.
    changes: u64,
    fingerprint: Option<String>,
    read_at: Instant,
    /// When tables got their sizes.
    measured_at: Option<Instant>,
}

impl Default for Catalogs {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_SESSIONS)
            .time_to_idle(IDLE)
            .build();
        Self(cache)
    }
}

impl Catalogs {
    /// Hands the objects of a kind to `use_them`. It runs while others wait, and does not wait itself.
    pub(crate) async fn with_list<T: Object, R>(
        &self,
        project: &Project,
        access: DatabaseAccess,
        with_system: bool,
        use_them: impl FnOnce(&[T]) -> R,
    ) -> Result<R, CatalogError> {
        let entry = self.entry(project, access);
        let mut entry = entry.lock().await;
        let scope = scope(access, with_system);
        let session = entry.session(project, access).await?;
        let objects = session.up_to_date::<T>(&scope).await?;
        Ok(use_them(objects))
    }

    /// The same for relations, with the columns of all of them if they are wanted. Sizes of tables are
    /// a few seconds old at most.
    pub(crate) async fn with_relations<T: Object, R>(
        &self,
        project: &Project,
        access: DatabaseAccess,
        (with_system, with_columns): (bool, bool),
        use_them: impl FnOnce(&[T], Option<&[Column]>) -> R,
    ) -> Result<R, CatalogError> {
        let entry = self.entry(project, access);
        let mut entry = entry.lock().await;
        let scope = scope(access, with_system);
        let session = entry.session(project, access).await?;
        // A table that is dropped in between is found to be missing.
        for _ in 0..3 {
            session.up_to_date::<T>(&scope).await?;
            if with_columns {
                session.up_to_date::<Column>(&scope).await?;
            }
            if TypeId::of::<T>() == TypeId::of::<Table>() && !session.has_sizes(&scope).await? {
                continue;
            }
            let columns = with_columns.then(|| session.objects(&scope));
            return Ok(use_them(session.objects(&scope), columns));
        }
        Err(CatalogError::Changing)
    }

    /// Objects of a kind by their ids, read now.
    pub(crate) async fn read<T: Object>(
        &self,
        project: &Project,
        access: DatabaseAccess,
        ids: Vec<u32>,
    ) -> Result<Vec<T>, CatalogError> {
        let scope = Scope {
            ids: Some(ids),
            ..scope(access, true)
        };
        let entry = self.entry(project, access);
        let mut entry = entry.lock().await;
        let session = entry.session(project, access).await?;
        Ok(read::list(&session.standing, &scope).await?)
    }

    /// A table by its id, with its size.
    pub(crate) async fn read_table(
        &self,
        project: &Project,
        access: DatabaseAccess,
        id: u32,
    ) -> Result<Option<Table>, CatalogError> {
        let scope = Scope {
            ids: Some(vec![id]),
            ..scope(access, true)
        };
        let entry = self.entry(project, access);
        let mut entry = entry.lock().await;
        let session = entry.session(project, access).await?;
        let mut tables = read::list::<Table>(&session.standing, &scope).await?;
        read::fill_sizes(&session.standing, &scope, &mut tables).await?;
        Ok(tables.pop())
    }

    /// Closes sessions that were not used for a while.
    pub(crate) fn close_idle(&self) {
        self.0.run_pending_tasks();
    }

    fn entry(&self, project: &Project, access: DatabaseAccess) -> Arc<Mutex<Entry>> {
        let key = (project.reference().clone(), access.into());
        self.0.get_with(key, Arc::default)
    }
}

fn scope(access: DatabaseAccess, with_system: bool) -> Scope {
    Scope {
        with_system,
        ids: None,
        only_readable: access != DatabaseAccess::Owner,
    }
}

impl Entry {
    /// The session, opened if there is none or it has ended.
    async fn session(
        &mut self,
        project: &Project,
        access: DatabaseAccess,
    ) -> Result<&mut Session, CatalogError> {
        if let Some(session) = &self.session
            && session.is_alive().await
        {
            return self.session.as_mut().ok_or(CatalogError::Changing);
        }
        // The old one goes first: a role has few connections.
        self.session = None;
        let standing = project.db.standing_session(access, schema::CHANNEL).await?;
        standing.batch_execute(SETTINGS).await?;
        let is_announced = standing.query_one(schema::IS_ANNOUNCED, &[]).await?.get(0);
        Ok(self.session.insert(Session {
            standing,
            is_announced,
            lists: HashMap::new(),
        }))
    }
}

impl Session {
    /// Asks the server for a sign of life, which also brings all notifications up to now.
    async fn is_alive(&self) -> bool {
        !self.standing.is_closed() && self.standing.batch_execute("").await.is_ok()
    }

    /// The list, read anew if it is outdated. The caller has just asked for notifications.
    async fn up_to_date<T: Object>(&mut self, scope: &Scope) -> Result<&[T], CatalogError> {
        let changes = self.standing.changes();
        let fingerprint = read::fingerprint::<T>(&self.standing, scope).await?;
        let max_age = Duration::from_secs(T::MAX_AGE_SECONDS);
        let is_current = |list: &List| {
            list.changes == changes
                && list.fingerprint == fingerprint
                && list.read_at.elapsed() < max_age
        };
        let key = key::<T>(scope);
        let may_keep = self.is_announced && T::IS_ANNOUNCED;
        if !(may_keep && self.lists.get(&key).is_some_and(is_current)) {
            let objects: Vec<T> = read::list(&self.standing, scope).await?;
            let list = List {
                objects: Box::new(objects),
                changes,
                fingerprint,
                read_at: Instant::now(),
                measured_at: None,
            };
            self.lists.insert(key, list);
        }
        Ok(self.objects::<T>(scope))
    }

    fn objects<T: Object>(&self, scope: &Scope) -> &[T] {
        let list = self.lists.get(&key::<T>(scope));
        let objects = list.and_then(|list| list.objects.downcast_ref::<Vec<T>>());
        objects.map_or(&[], Vec::as_slice)
    }

    /// Gives the tables their sizes; false if one of them is gone.
    async fn has_sizes(&mut self, scope: &Scope) -> Result<bool, ReadError> {
        let key = key::<Table>(scope);
        let Some(mut list) = self.lists.remove(&key) else {
            return Ok(false);
        };
        let is_recent = |at: Instant| at.elapsed() < MAX_SIZE_AGE;
        if !list.measured_at.is_some_and(is_recent) {
            let Some(tables) = list.objects.downcast_mut::<Vec<Table>>() else {
                return Ok(false);
            };
            if !read::fill_sizes(&self.standing, scope, tables).await? {
                return Ok(false);
            }
            list.measured_at = Some(Instant::now());
        }
        self.lists.insert(key, list);
        Ok(true)
    }
}

fn key<T: Object>(scope: &Scope) -> (TypeId, bool) {
    (TypeId::of::<T>(), scope.with_system)
}
