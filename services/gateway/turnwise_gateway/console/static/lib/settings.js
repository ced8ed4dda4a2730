// What a person chose, kept in this browser. Never a key or anything else that is secret.
export function kept(name, otherwise) {
  try {
    const text = localStorage.getItem(`turnwise.${name}`);
    return text === null ? otherwise : text;
  } catch {
    return otherwise;
  }
}

export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(`turnwise.${name}`);
    else localStorage.setItem(`turnwise.${name}`, value);
  } catch {
    // Storage is switched off: it holds for this page only.
  }
}
