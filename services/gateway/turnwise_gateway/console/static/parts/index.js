// The shared components, and the hook with which they send, for pages.
export { Bar } from "./bar.js";
export { Dialog, confirm } from "./dialog.js";
export { Empty, Failure, Loading } from "./states.js";
export { Field, TypedField } from "./field.js";
export { Icon } from "./icon.js";
export { Json } from "./json.js";
export { LoadMore } from "./load_more.js";
export { Money, Time, Tokens } from "./values.js";
export { Page } from "./page.js";
export { PlainText } from "./plain_text.js";
export { SecretDialog } from "./secret.js";
export { StatusBadge } from "./status_badge.js";
export { Table } from "./table.js";
export { Tabs } from "./tabs.js";
export { Toasts, toast } from "./toast.js";
export { useAction } from "./action.js";
export { VirtualList } from "./virtual_list.js";
