import { InboxBadge } from "./inbox/badge.js";
import RunsPage from "./runs.js";

// The pages of the navigation, in its order. A page is here once it exists. `key` is pressed after `g`; `load` gets a
// module whose default export is a component with the property `route`; the first page is such a `component` at once. Optional: `detail`, like `load`, for addresses
// with more parts, such as `#/runs/RUN`; `badge`, a component beside the title; `scope`, the
// one that it needs (`runs:read` if left out); `short`, the title on a narrow screen.
export const PAGES = [
  { id: "runs", title: "Runs", icon: "runs", key: "r", component: RunsPage, detail: () => import("./run/index.js") },
  { id: "inbox", title: "Inbox", icon: "inbox", key: "i", load: () => import("./inbox.js"), badge: InboxBadge },
  { id: "chat", title: "Chat", icon: "chat", key: "c", scope: "runs:write", load: () => import("./chat.js") },
  { id: "tasks", title: "Tasks", icon: "tasks", key: "t", load: () => import("./tasks.js"), detail: () => import("./task.js") },
  { id: "batches", title: "Batches", icon: "batches", key: "b", load: () => import("./batches.js"), detail: () => import("./batch.js") },
  { id: "overview", title: "Overview", icon: "overview", key: "o", load: () => import("./overview.js") },
  { id: "administration", title: "Administration", short: "Admin", icon: "administration", key: "a", scope: "admin", load: () => import("./administration.js") },
];
