// The cache of the server's answers.

import { QueryClient } from "@tanstack/react-query";

import { toFailure } from "../../lib/failure";

const staleTimeMs = 20_000;
const keptForMs = 30 * 60_000;
const maxRetries = 2;

/** Only what may pass by itself is tried again: a refusal stays one. */
export function shouldRetry(count: number, error: unknown): boolean {
  const { code } = toFailure(error);
  return count < maxRetries && ["offline", "server_error", "over_request_rate_limit"].includes(code);
}

export function retryDelay(count: number, error: unknown): number {
  const seconds = toFailure(error).details.retryAfter;
  return seconds === null ? 500 * 2 ** count : Math.min(seconds, 30) * 1000;
}

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: staleTimeMs,
        gcTime: keptForMs,
        retry: shouldRetry,
        retryDelay,
        // Offline is told by the request itself: a server on this machine works without a network.
        networkMode: "always",
      },
      mutations: { networkMode: "always", retry: false },
    },
  });
