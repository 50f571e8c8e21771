//! The engine behind its socket.

use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, HostConfig, Mount, MountType, ResourcesUlimits};
use bollard::query_parameters::{
    BuildImageOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
    RemoveContainerOptionsBuilder, StartContainerOptions, StopContainerOptionsBuilder,
};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;

use super::archive::archive;
use super::engine::{ContainerSpec, Engine, FoundContainer, MOUNT};
use crate::error::BackendError;
use crate::limits::{Limit, Limits};

/// What the bundled image is built from.
const DOCKERFILE: &str = include_str!("../../image/Dockerfile");

/// Says what a container was made with.
const LABEL: &str = "akgentic.sandbox";

/// How long one small action may take.
const ACTION: Duration = Duration::from_secs(30);

/// How long the image may be built.
const BUILD: Duration = Duration::from_mins(15);

/// How long a container is asked to stop before it is made to.
const STOP_SECONDS: i32 = 2;

/// A connection to the engine of this host.
pub(super) struct Client {
    pub docker: bollard::Docker,
    limits: Limits,
}

impl Client {
    /// Connects and sees whether the engine answers.
    pub(super) async fn connect(limits: &Limits) -> Result<Self, BackendError> {
        let docker =
            bollard::Docker::connect_with_unix_defaults().map_err(|error| failed(&error))?;
        let asked = bounded("the container engine", Duration::from_secs(3), docker.ping());
        asked.await?;
        let docker = docker.negotiate_version().await.map_err(|error| failed(&error))?;
        Ok(Self { docker, limits: limits.clone() })
    }
}

pub(super) fn failed(error: &bollard::errors::Error) -> BackendError {
    BackendError::Engine(error.to_string())
}

/// Waits for an answer of the engine, at most so long.
pub(super) async fn bounded<T>(
    what: &str,
    limit: Duration,
    asked: impl Future<Output = Result<T, bollard::errors::Error>>,
) -> Result<T, BackendError> {
    match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer.map_err(|error| failed(&error)),
        Err(_) => Err(BackendError::TimedOut { what: what.to_owned(), after: limit }),
    }
}

fn is_absent(error: &bollard::errors::Error) -> bool {
    matches!(error, bollard::errors::Error::DockerResponseServerError { status_code: 404, .. })
}

/// Nothing where the engine says there is nothing.
fn present<T>(
    answer: Result<T, bollard::errors::Error>,
) -> Result<Option<T>, bollard::errors::Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Engine for Client {
    fn has_image<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<bool, BackendError>> {
        Box::pin(async move {
            let asked = async { present(self.docker.inspect_image(image).await) };
            Ok(bounded("looking for the image", ACTION, asked).await?.is_some())
        })
    }

    fn build<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        Box::pin(async move {
            let options = BuildImageOptionsBuilder::default()
                .dockerfile("Dockerfile")
                .t(image)
                .rm(true)
                .build();
            let content = archive("Dockerfile", DOCKERFILE.as_bytes());
            let body = bollard::body_full(content.into());
            let building = async {
                let mut steps = self.docker.build_image(options, None, Some(body));
                while let Some(step) = steps.next().await {
                    let step = step?;
                    if let Some(text) = step.stream {
                        tracing::debug!(image, "{}", text.trim_end());
                    }
                }
                Ok(())
            };
            let built = bounded("building the image", BUILD, building).await;
            built.map_err(|error| match error {
                BackendError::Engine(reason) => {
                    BackendError::Image { image: image.to_owned(), reason }
                }
                other => other,
            })
        })
    }

    fn find<'a>(
        &'a self,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<FoundContainer>, BackendError>> {
        Box::pin(async move {
            let asked = async {
                let found = self.docker.inspect_container(name, None::<InspectContainerOptions>);
                present(found.await)
            };
            let found = bounded("looking for the container", ACTION, asked).await?;
            Ok(found.map(|found| {
                let labels = found.config.and_then(|config| config.labels);
                let fingerprint = labels.and_then(|mut labels| labels.remove(LABEL));
                FoundContainer { fingerprint }
            }))
        })
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        let starting = self.docker.start_container(name, None::<StartContainerOptions>);
        Box::pin(bounded("starting the container", ACTION, starting))
    }

    fn create<'a>(&'a self, spec: &'a ContainerSpec) -> BoxFuture<'a, Result<(), BackendError>> {
        Box::pin(async move {
            let options = CreateContainerOptionsBuilder::default().name(&spec.name).build();
            let body = container(spec, &self.limits);
            let made = self.docker.create_container(Some(options), body);
            bounded("making the container", ACTION, made).await?;
            self.start(&spec.name).await
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        let options = RemoveContainerOptionsBuilder::default().force(true).build();
        let removing = self.docker.remove_container(name, Some(options));
        Box::pin(bounded("removing the container", ACTION, removing))
    }

    fn stop<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), BackendError>> {
        Box::pin(async move {
            let options = StopContainerOptionsBuilder::default().t(STOP_SECONDS).build();
            let stopping = async { present(self.docker.stop_container(name, Some(options)).await) };
            bounded("stopping the container", ACTION, stopping).await.map(drop)
        })
    }
}

/// A container that does nothing until it is told to, as a user of its own.
fn container(spec: &ContainerSpec, limits: &Limits) -> ContainerCreateBody {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let ulimits = limits.inherited(false).into_iter().filter_map(|limit| {
        let (name, value) = match limit {
            Limit::Cpu(seconds) => ("cpu", seconds),
            Limit::FileSize(bytes) => ("fsize", bytes),
            Limit::NoCore => ("core", 0),
            Limit::OpenFiles(count) => ("nofile", count),
            Limit::Data(_) | Limit::Processes(_) => return None,
        };
        let value = Some(signed(value));
        Some(ResourcesUlimits { name: Some(name.to_owned()), soft: value, hard: value })
    });
    let mount = Mount {
        target: Some(MOUNT.to_owned()),
        source: Some(spec.directory.display().to_string()),
        typ: Some(MountType::BIND),
        read_only: Some(false),
        ..Mount::default()
    };
    let idle = spec.idle_user();
    ContainerCreateBody {
        image: Some(spec.image.clone()),
        cmd: Some(vec!["sleep".to_owned(), "infinity".to_owned()]),
        entrypoint: Some(Vec::new()),
        user: Some(format!("{idle}:{idle}")),
        working_dir: Some(MOUNT.to_owned()),
        labels: Some(HashMap::from([(LABEL.to_owned(), spec.fingerprint())])),
        host_config: Some(HostConfig {
            mounts: Some(vec![mount]),
            init: Some(true),
            network_mode: Some(if spec.network { "bridge" } else { "none" }.to_owned()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            pids_limit: spec.processes.map(signed),
            memory: spec.memory.map(signed),
            memory_swap: spec.memory.map(signed),
            ulimits: Some(ulimits.collect()),
            tmpfs: Some(HashMap::from([(
                "/tmp".to_owned(),
                format!("rw,nosuid,nodev,exec,mode=1777,size={}", limits.temporary),
            )])),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}
