// uPlot, loaded with the first chart: it is a classic script, and larger than everything else together.
let loading = null;

export function uPlot() {
  loading ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("../vendor/uPlot.min.css", import.meta.url).href;
    const script = document.createElement("script");
    script.src = new URL("../vendor/uPlot.iife.min.js", import.meta.url).href;
    script.onload = () => resolve(globalThis.uPlot);
    script.onerror = () => {
      loading = null;
      reject(new Error("the charts could not be loaded"));
    };
    document.head.append(style, script);
  });
  return loading;
}
