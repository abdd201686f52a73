// A plot over time that can be read closely: the bars that the service has drawn, with a cursor.
// Without this script the bars stay as they are.
"use strict";
(() => {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shade = { decision: "--accent", fact: "--pale", task: "--amber", question: "--rose", handoff: "--line" };
  function draw(box) {
    if (box.dataset.drawn) return;
    box.dataset.drawn = "yes";
    const given = JSON.parse(box.dataset.plot), kinds = Object.keys(given.series);
    const sums = given.at.map(() => 0);
    const stacked = kinds.map((kind) => given.series[kind].map((value, at) => (sums[at] += value)));
    const bars = uPlot.paths.bars({ size: [0.9, 40] });
    const series = kinds.map((kind, at) => ({
      label: kind, fill: color(shade[kind]), stroke: "transparent", width: 0, paths: bars, points: { show: false },
      value: (plot, value, one, row) => (row == null ? "" : given.series[kind][row]),
    }));
    const axis = { stroke: color("--soft"), font: "12px sans-serif", grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const half = (given.at[1] - given.at[0]) / 2, options = { day: "numeric", month: "short", year: "numeric" };
    const days = (one, ticks) => ticks.map((at) => new Date(at * 1000).toLocaleDateString("en-GB", options));
    const plot = new uPlot({
      width: box.clientWidth, height: 190,
      scales: {
        x: { range: (one, low, high) => [low - half, high + half] },
        y: { range: (one, low, high) => [0, Math.max(1, high * 1.05)] },
      },
      axes: [{ ...axis, grid: { show: false }, values: days, space: 200 }, { ...axis, size: 44 }],
      series: [{ value: "{D} {MMM} {YYYY}" }, ...series.reverse()],
      cursor: { y: false, points: { show: false } },
      legend: { markers: { show: false } },
    }, [given.at, ...stacked.reverse()], box);
    const drawn = box.querySelector("svg");
    plot.ctx.canvas.setAttribute("role", "img");
    plot.ctx.canvas.setAttribute("aria-label", drawn.getAttribute("aria-label"));
    drawn.remove();
    new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: 190 })).observe(box);
  }
  function start() {
    const boxes = [...document.querySelectorAll("[data-plot]")];
    if (!boxes.length) return;
    if (window.uPlot) return boxes.forEach(draw);
    if (document.querySelector("script[data-uplot]")) return;
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: boxes[0].dataset.style });
    const script = Object.assign(document.createElement("script"), { src: boxes[0].dataset.script });
    script.dataset.uplot = "yes";
    script.onload = start;
    document.head.append(style, script);
  }
  start();
  document.addEventListener("wakebook:swapped", start);
})();
