// Preact and htm as one module: `html` makes elements from templates.
import { h } from "../vendor/preact.mjs";
import { useState as useStateOf } from "../vendor/hooks.mjs";
import htm from "../vendor/htm.mjs";

export { Component, Fragment, createContext, h, render } from "../vendor/preact.mjs";
export {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "../vendor/hooks.mjs";

export const html = htm.bind(h);

let ids = 0;

// An id of an element, different from all others of the page. Preact's own `useId` counts anew in each tree that is
// rendered, and a dialog may be one.
export function useId() {
  const [id] = useStateOf(() => `id-${(ids += 1)}`);
  return id;
}
