//! A router that knows what it routes to. Written as axum's: `.route(path, get(list).post(create))`.

use axum::{Router, handler::Handler, http::Method, routing::MethodRouter};
use serde_json::{Value, json};

use super::{
    Schemas,
    describe::{Described, Operation},
};
use crate::Platform;

/// One path and method.
pub(in crate::api) struct Endpoint {
    pub(super) path: &'static str,
    pub(super) method: Method,
    described: DescribedHandler,
}

struct DescribedHandler {
    /// The handler's path in the source.
    name: &'static str,
    describe: fn(&mut Operation<'_>),
}

impl Endpoint {
    pub(super) fn describe(&self, schemas: &mut Schemas) -> Value {
        let mut operation = Operation::new(schemas);
        for name in parameters(self.path) {
            operation.add_parameter("path", name, true, json!({ "type": "string" }));
        }
        (self.described.describe)(&mut operation);
        operation.finish(&operation_id(self.described.name), tag(self.path))
    }
}

/// `plinth_platform::api::jobs::list` is `jobs_list`.
fn operation_id(name: &str) -> String {
    let name = name.rsplit_once("::api::").map_or(name, |(_, name)| name);
    name.replace("::", "_")
}

/// The area of a path: what follows the project.
fn tag(path: &str) -> &str {
    let path = path.strip_prefix("/projects/{ref}/").unwrap_or(path);
    path.trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default()
}

fn parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| {
        let name = segment.strip_prefix('{')?.strip_suffix('}')?;
        Some(name.trim_start_matches('*'))
    })
}

/// The routes of an area.
#[derive(Default)]
pub(in crate::api) struct Routes {
    router: Router<Platform>,
    endpoints: Vec<Endpoint>,
}

impl Routes {
    pub(in crate::api) fn new() -> Self {
        Self::default()
    }

    pub(in crate::api) fn route(mut self, path: &'static str, methods: Methods) -> Self {
        self.router = self.router.route(path, methods.router);
        let handlers = methods.handlers.into_iter();
        self.endpoints
            .extend(handlers.map(|(method, described)| Endpoint {
                path,
                method,
                described,
            }));
        self
    }

    pub(in crate::api) fn into_router(self) -> Router<Platform> {
        self.router
    }

    pub(super) fn into_operations(self) -> Vec<Endpoint> {
        self.endpoints
    }
}

/// The methods of a path.
#[derive(Default)]
pub(in crate::api) struct Methods {
    router: MethodRouter<Platform>,
    handlers: Vec<(Method, DescribedHandler)>,
}

macro_rules! methods {
    ($($name:ident $method:ident;)+) => {
        $(
            #[allow(dead_code, reason = "a route may begin with any method")]
            pub(in crate::api) fn $name<H, T, D>(handler: H) -> Methods
            where
                H: Handler<T, Platform> + Described<D>,
                T: 'static,
            {
                Methods::default().$name(handler)
            }
        )+

        impl Methods {
            $(
                pub(in crate::api) fn $name<H, T, D>(mut self, handler: H) -> Self
                where
                    H: Handler<T, Platform> + Described<D>,
                    T: 'static,
                {
                    let described = DescribedHandler {
                        name: std::any::type_name::<H>(),
                        describe: H::describe,
                    };
                    self.handlers.push((Method::$method, described));
                    self.router = self.router.$name(handler);
                    self
                }
            )+
        }
    };
}

methods! {
    get GET;
    post POST;
    put PUT;
    patch PATCH;
    delete DELETE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_source_and_the_path() {
        assert_eq!(
            operation_id("plinth_platform::api::jobs::list"),
            "jobs_list"
        );
        assert_eq!(operation_id("elsewhere::f"), "elsewhere_f");
        assert_eq!(tag("/projects/{ref}/logs/tail"), "logs");
        assert_eq!(tag("/projects/{ref}"), "projects");
        assert_eq!(tag("/jobs/{id}"), "jobs");
        let names: Vec<&str> = parameters("/projects/{ref}/proxy/{*path}").collect();
        assert_eq!(names, ["ref", "path"]);
    }
}
