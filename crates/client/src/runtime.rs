//! Differences between native targets and the browser: whether futures are `Send`, and how tasks are
//! spawned.

#[cfg(not(target_arch = "wasm32"))]
mod imp {
    use std::future::Future;

    /// A boxed future, `Send` except in the browser.
    pub type BoxFuture<'a, T> = futures_util::future::BoxFuture<'a, T>;
    /// A boxed stream; as [`BoxFuture`].
    pub type BoxStream<'a, T> = futures_util::stream::BoxStream<'a, T>;

    /// `Send`, where threads exist.
    pub trait MaybeSend: Send {}
    impl<T: Send + ?Sized> MaybeSend for T {}
    /// `Sync`, where threads exist.
    pub trait MaybeSync: Sync {}
    impl<T: Sync + ?Sized> MaybeSync for T {}

    /// Aborts a spawned task when dropped.
    #[derive(Debug)]
    pub(crate) struct Task(tokio::task::AbortHandle);

    impl Task {
        /// Whether the task, or its runtime, has ended.
        pub(crate) fn is_over(&self) -> bool {
            self.0.is_finished()
        }
    }

    impl Drop for Task {
        fn drop(&mut self) {
            self.0.abort();
        }
    }

    /// Spawns a task that is aborted when the handle is dropped. `None` outside of a runtime.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Option<Task> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(Task(runtime.spawn(future).abort_handle()))
    }

    /// Spawns a future that completes even if it is not awaited. Outside of a runtime it is only
    /// polled by its awaiter.
    pub(crate) fn finish(future: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(future);
        }
    }
}

#[cfg(target_arch = "wasm32")]
mod imp {
    use std::future::Future;

    use futures_util::future::{AbortHandle, Abortable};

    /// A boxed future, `Send` except in the browser.
    pub type BoxFuture<'a, T> = futures_util::future::LocalBoxFuture<'a, T>;
    /// A boxed stream; as [`BoxFuture`].
    pub type BoxStream<'a, T> = futures_util::stream::LocalBoxStream<'a, T>;

    /// `Send`, where threads exist.
    pub trait MaybeSend {}
    impl<T: ?Sized> MaybeSend for T {}
    /// `Sync`, where threads exist.
    pub trait MaybeSync {}
    impl<T: ?Sized> MaybeSync for T {}

    /// Aborts a spawned task when dropped.
    #[derive(Debug)]
    pub(crate) struct Task(AbortHandle);

    impl Drop for Task {
        fn drop(&mut self) {
            self.0.abort();
        }
    }

    /// Spawns a task that is aborted when the handle is dropped.
    pub(crate) fn spawn(future: impl Future<Output = ()> + 'static) -> Option<Task> {
        let (handle, registration) = AbortHandle::new_pair();
        let future = Abortable::new(future, registration);
        wasm_bindgen_futures::spawn_local(async move {
            _ = future.await;
        });
        Some(Task(handle))
    }

    /// Spawns a future that completes even if it is not awaited.
    pub(crate) fn finish(future: impl Future<Output = ()> + 'static) {
        wasm_bindgen_futures::spawn_local(future);
    }
}

pub use imp::{BoxFuture, BoxStream, MaybeSend, MaybeSync};
pub(crate) use imp::{Task, finish, spawn};
