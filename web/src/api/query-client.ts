/** The cache of what the server said, and what a failed request does to it. */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiProblem } from "./problem";
import { signOut } from "./session";

function noticeSignedOut(error: unknown): void {
  if (error instanceof ApiProblem && error.isSignedOut) signOut();
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: noticeSignedOut }),
    mutationCache: new MutationCache({ onError: noticeSignedOut }),
    defaultOptions: {
      queries: {
        // The live stream keeps the cache true; this only bounds what a missed event can cost.
        staleTime: 30_000,
        // Panels say what failed at once and count down to the next try themselves.
        retry: false,
        // The server is on this machine or its network: "offline" of the browser says nothing about it.
        networkMode: "always",
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
