import { html } from "../../../lib/preact.js";
import { Field } from "../../../parts/index.js";

const FIELDS = {
  max_cost: { label: "Most cost in US dollars", placeholder: "0.50", inputmode: "decimal" },
  max_tokens: { label: "Most tokens", placeholder: "100000", inputmode: "numeric", number: true },
  turns: { label: "Turns of the root task", placeholder: "20", inputmode: "numeric", number: true },
  deadline: { label: "Deadline in seconds from now", placeholder: "3600", inputmode: "decimal", number: true },
};

// The limits that were typed, as the API takes them. A number that is none is sent as it is: the server says what is wrong.
export function limitsOf(typed) {
  const made = {};
  for (const [name, text] of Object.entries(typed)) {
    const value = text.trim();
    if (value === "") continue;
    made[name] = FIELDS[name].number && Number.isFinite(Number(value)) ? Number(value) : value;
  }
  return made;
}

// Inputs for limits; `problem` is shown at the one that it names.
export function LimitFields({ names, typed, hints = {}, problem, onType }) {
  const fault = (name) => problem?.errors?.find((one) => JSON.stringify(one).includes(name))?.message;
  return html`<div class="limit-fields">
    ${names.map((name) => {
      const { label, number: _number, ...control } = FIELDS[name];
      return html`<${Field} key=${name} label=${label} ...${control} hint=${hints[name]} error=${fault(name)} value=${typed[name] ?? ""} onInput=${(event) => onType({ ...typed, [name]: event.currentTarget.value })} />`;
    })}
  </div>`;
}
