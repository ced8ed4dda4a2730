import { short } from "../../lib/format.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { uPlot } from "../../lib/uplot.js";

const HEIGHT = 150;

function shown(value, unit = "") {
  if (value === null || value === undefined) return "–";
  return `${unit}${value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : short(value)}`;
}

// Times of an axis: the clock, and at midnight, or where ticks are days apart, the day.
function clock(_chart, ticks) {
  return ticks.map((tick) => {
    const at = new Date(tick * 1000);
    const isMidnight = at.getHours() === 0 && at.getMinutes() === 0;
    if (isMidnight) return at.toLocaleDateString([], { month: "short", day: "numeric" });
    const seconds = ticks.length > 1 && ticks[1] - ticks[0] < 60 ? { second: "2-digit" } : {};
    return at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...seconds });
  });
}

// Charts are drawn on a canvas, which knows no variables of styles.
function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

// Changes with the theme, whoever changes it.
function useTheme() {
  const [number, setNumber] = useState(0);
  useEffect(() => {
    const changed = () => setNumber((before) => before + 1);
    const observer = new MutationObserver(changed);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", changed);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", changed);
    };
  }, []);
  return number;
}

function optionsOf(lines, unit, width) {
  const colour = colours();
  const font = `11px ${colour("font")}`;
  const axis = { stroke: colour("faint"), font, grid: { stroke: colour("border"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { sync: { key: "overview" }, y: false, points: { size: 6 }, drag: { setScale: false, x: false, y: false } },
    scales: { y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, space: 70, size: 26, values: clock },
      { ...axis, size: 48, values: (_chart, ticks) => ticks.map((tick) => shown(tick, unit)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: colour(`chart-${line.colour}`),
        fill: line.filled ? `${colour(`chart-${line.colour}`)}26` : undefined,
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}

function Legend({ lines, values, at, unit }) {
  const index = at ?? values[0].findLastIndex((value) => value !== null);
  return html`<ul class="chart-legend">
    ${lines.map((line, number) => html`<li key=${line.name}><span class="chart-key colour-${line.colour}" aria-hidden="true" />${line.name} <span class="number">${shown(values[number][index], unit)}</span></li>`)}
  </ul>`;
}

// One chart of lines over the same times; the legend has the newest values, or those below the pointer.
export function Chart({ title, unit, lines, times, values }) {
  const place = useRef(null);
  const chart = useRef(null);
  const [at, setAt] = useState(null);
  const [fault, setFault] = useState(null);
  const theme = useTheme();
  const data = useRef(null);
  data.current = [times, ...values];

  useEffect(() => {
    let gone = false;
    const element = place.current;
    const resized = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    uPlot().then(
      (Plot) => {
        if (gone) return;
        const options = optionsOf(lines, unit, element.clientWidth);
        options.hooks = { setCursor: [(made) => setAt(made.cursor.idx ?? null)] };
        chart.current = new Plot(options, data.current, element);
        resized.observe(element);
      },
      (error) => !gone && setFault(error.message),
    );
    return () => {
      gone = true;
      resized.disconnect();
      chart.current?.destroy();
      chart.current = null;
    };
  }, [theme, title]);

  useEffect(() => chart.current?.setData(data.current), [times, values]);

  return html`<figure class="card chart" aria-label=${title}>
    <figcaption><h2>${title}</h2><${Legend} lines=${lines} values=${values} at=${at} unit=${unit} /></figcaption>
    <div class="chart-place" ref=${place} aria-hidden="true" />
    ${fault && html`<p class="soft">${fault}</p>`}
  </figure>`;
}
