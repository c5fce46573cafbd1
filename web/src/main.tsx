import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { followLive } from "@/api/live/live";
import { createQueryClient } from "@/api/query-client";
import { router } from "@/app/router";
import "@/styles/tokens.css";
import "@/styles/base.css";

const queryClient = createQueryClient();
followLive(queryClient);

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
