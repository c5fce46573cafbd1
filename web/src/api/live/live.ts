/** Joins the live stream and takes each event to where it is used. Called once, by the app. */
import type { QueryClient } from "@tanstack/react-query";
import { LiveFollower } from "./live-follower";
import { openTransport } from "./transport";

let retryNow = (): void => {};

/** Tries to connect at once. */
export function retryConnection(): void {
  retryNow();
}

/** Follows the stream until the returned function is called. */
export function followLive(queryClient: QueryClient): () => void {
  const follower = new LiveFollower(queryClient);
  const transport = openTransport((message) => follower.receive(message));
  retryNow = () => transport.retry();
  return () => transport.close();
}
