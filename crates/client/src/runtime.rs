//! The few places where native targets and the browser differ: which futures may change threads,
//! and how work goes on after its caller has left.

#[cfg(not(target_arch = "wasm32"))]
mod imp {
    use std::future::Future;

    /// A boxed future. It may change threads, except in the browser, where there are none.
    pub type BoxFuture<'a, T> = futures_util::future::BoxFuture<'a, T>;
    /// A boxed stream; as [`BoxFuture`].
    pub type BoxStream<'a, T> = futures_util::stream::BoxStream<'a, T>;

    /// `Send`, where threads exist.
    pub trait MaybeSend: Send {}
    impl<T: Send + ?Sized> MaybeSend for T {}
    /// `Sync`, where threads exist.
    pub trait MaybeSync: Sync {}
    impl<T: Sync + ?Sized> MaybeSync for T {}

    /// Ends a spawned task when dropped.
    #[derive(Debug)]
    pub(crate) struct Task(tokio::task::AbortHandle);

    impl Task {
        /// Whether it has come to its end, or its runtime has.
        pub(crate) fn is_over(&self) -> bool {
            self.0.is_finished()
        }
    }

    impl Drop for Task {
        fn drop(&mut self) {
            self.0.abort();
        }
    }

    /// Runs a future by itself until the handle is dropped. Outside of a runtime nothing runs.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Option<Task> {
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        Some(Task(runtime.spawn(future).abort_handle()))
    }

    /// Lets a future finish even if nobody waits for it any more. Outside of a runtime it goes on
    /// only as long as somebody does.
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

    /// A boxed future. It may change threads, except in the browser, where there are none.
    pub type BoxFuture<'a, T> = futures_util::future::LocalBoxFuture<'a, T>;
    /// A boxed stream; as [`BoxFuture`].
    pub type BoxStream<'a, T> = futures_util::stream::LocalBoxStream<'a, T>;

    /// `Send`, where threads exist.
    pub trait MaybeSend {}
    impl<T: ?Sized> MaybeSend for T {}
    /// `Sync`, where threads exist.
    pub trait MaybeSync {}
    impl<T: ?Sized> MaybeSync for T {}

    /// Ends a spawned task when dropped.
    #[derive(Debug)]
    pub(crate) struct Task(AbortHandle);

    impl Drop for Task {
        fn drop(&mut self) {
            self.0.abort();
        }
    }

    /// Runs a future by itself until the handle is dropped.
    pub(crate) fn spawn(future: impl Future<Output = ()> + 'static) -> Option<Task> {
        let (handle, registration) = AbortHandle::new_pair();
        let future = Abortable::new(future, registration);
        wasm_bindgen_futures::spawn_local(async move {
            _ = future.await;
        });
        Some(Task(handle))
    }

    /// Lets a future finish even if nobody waits for it any more.
    pub(crate) fn finish(future: impl Future<Output = ()> + 'static) {
        wasm_bindgen_futures::spawn_local(future);
    }
}

pub use imp::{BoxFuture, BoxStream, MaybeSend, MaybeSync};
pub(crate) use imp::{Task, finish, spawn};
