// The services as a line of words with signs.

import { useQuery } from "@tanstack/react-query";

import { type State, StateLabel } from "../../../components/badge";
import { Bone, Loading, Region } from "../../../components/data-states";
import { Tooltip } from "../../../components/tooltip";
import { formatMs } from "../../../lib/format";
import { texts } from "../../texts";
import { healthQuery, type ServiceHealth } from "./api";

const t = texts.home;

const stateOf = ({ healthy, status }: ServiceHealth): State => {
  if (healthy) return "good";
  return status === "COMING_UP" ? "waiting" : "danger";
};

/** Version, latency, and why a service is not healthy. */
function details({ info, error }: ServiceHealth): string {
  const latency = info?.latency_ms == null ? null : formatMs(info.latency_ms);
  return [error, info?.version, latency].filter(Boolean).join(" · ");
}

export function Services({ projectRef }: { projectRef: string }) {
  const query = useQuery(healthQuery(projectRef));
  return (
    <Region
      query={query}
      errorTitle={t.servicesNotLoaded}
      errorSize="sm"
      skeleton={
        <Loading label={t.servicesLoading}>
          <Bone className="h-9" />
        </Loading>
      }
    >
      {(services, stale) => {
        const unhealthy = services.filter((service) => !service.healthy).length;
        return (
          <section
            aria-label={t.services}
            className="flex min-h-9 flex-wrap items-center gap-x-5 gap-y-1.5 rounded-lg border border-line bg-surface px-4 py-2 text-dense"
          >
            <h2 className="font-medium">{unhealthy === 0 ? t.allHealthy : t.someUnhealthy(unhealthy)}</h2>
            <ul className="flex flex-wrap items-center gap-x-4 gap-y-1">
              {services.map((service) => (
                <li key={service.name}>
                  <Service service={service} />
                </li>
              ))}
            </ul>
            <span className="ms-auto">{stale}</span>
          </section>
        );
      }}
    </Region>
  );
}

function Service({ service }: { service: ServiceHealth }) {
  const name = t.serviceNames[service.name] ?? service.name;
  const status = t.serviceStates[service.status] ?? service.status;
  const more = details(service);
  const label = (
    <StateLabel state={stateOf(service)}>
      <span>{name}</span>
      {service.healthy ? (
        <span className="sr-only">{status}</span>
      ) : (
        <span className="font-medium text-danger">{status}</span>
      )}
    </StateLabel>
  );
  if (!more) return label;
  return (
    <Tooltip text={more}>
      <button type="button" className="rounded-md text-soft hover:text-text">
        {label}
        <span className="sr-only">{more}</span>
      </button>
    </Tooltip>
  );
}
