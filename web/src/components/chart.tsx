// Small charts of time series: bars and lines in SVG, with a table of the same numbers for screen readers.
// Large ones with zoom (reports) load a library of their own.

import clsx from "clsx";
import { type PointerEvent, useId, useState } from "react";

import { exactTime } from "../lib/dates";

export type Point = { at: string; value: number };
export type Series = { name: string; tone: 1 | 2 | 3 | 4; points: readonly Point[] };

const width = 240;

type SparklineProps = { points: readonly number[]; label: string; className?: string };

/** A line without axes; the label says in words what it shows. */
export function Sparkline({ points, label, className }: SparklineProps) {
  const height = 24;
  const highest = Math.max(...points, 1);
  const x = (index: number) => (points.length < 2 ? 0 : (index / (points.length - 1)) * width);
  const y = (value: number) => height - 1.5 - (value / highest) * (height - 3);
  const line = points.map((value, index) => `${index === 0 ? "M" : "L"}${x(index)},${y(value)}`).join("");
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className={clsx("h-6 overflow-visible", className)}
    >
      {points.length > 1 ? (
        <path
          d={line}
          fill="none"
          stroke="var(--chart-1)"
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      ) : (
        <path d={`M0,${height - 1.5}H${width}`} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
      )}
    </svg>
  );
}

type ChartProps = {
  /** What it shows, for screen readers. */
  label: string;
  series: readonly Series[];
  kind: "bars" | "line";
  format: (value: number) => string;
  height?: number;
  /** Header of the times in the table. */
  timeLabel: string;
};

/** Bars (stacked) or lines over time. An empty range draws the axis only. */
export function TimeChart({ label, series, kind, format, height = 64, timeLabel }: ChartProps) {
  const [hovered, setHovered] = useState<number | null>(null);
  const fillId = useId();
  const times = series[0]?.points.map((point) => point.at) ?? [];
  const count = times.length;
  const totals = times.map((_, index) =>
    kind === "bars"
      ? series.reduce((sum, one) => sum + (one.points[index]?.value ?? 0), 0)
      : Math.max(...series.map((one) => one.points[index]?.value ?? 0)),
  );
  const highest = Math.max(...totals, 0) || 1;
  const scale = (value: number) => (value / highest) * (height - 4);

  const follow = (event: PointerEvent<SVGSVGElement>) => {
    if (count === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    setHovered(Math.max(0, Math.min(count - 1, Math.floor(share * count))));
  };
  const step = count > 0 ? width / count : width;

  return (
    <figure className="relative m-0">
      <svg
        aria-hidden
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        style={{ height }}
        className="block w-full touch-pan-y"
        onPointerMove={follow}
        onPointerLeave={() => setHovered(null)}
      >
        <defs>
          <linearGradient id={fillId} x1="0" x2="0" y1="0" y2="1">
            <stop offset="0" stopColor="var(--chart-fill)" />
            <stop offset="1" stopColor="var(--chart-fill)" stopOpacity="0.15" />
          </linearGradient>
        </defs>
        {kind === "bars"
          ? times.map((at, index) => {
              let base = height - 1;
              return series.map((one) => {
                const tall = scale(one.points[index]?.value ?? 0);
                base -= tall;
                return (
                  <rect
                    key={`${at} ${one.name}`}
                    x={index * step + step * 0.14}
                    y={base}
                    width={step * 0.72}
                    height={tall > 0 ? Math.max(tall, 1) : 0}
                    fill={`var(--chart-${one.tone})`}
                    opacity={hovered === null || hovered === index ? 1 : 0.45}
                  />
                );
              });
            })
          : series.map((one, nth) => (
              <Line
                key={one.name}
                points={one.points}
                y={(value) => height - 2 - scale(value)}
                tone={one.tone}
                fill={nth === 0 ? `url(#${fillId})` : null}
                height={height}
              />
            ))}
        <path d={`M0,${height - 0.5}H${width}`} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
        {hovered !== null && kind === "line" && (
          <path
            d={`M${(hovered + 0.5) * step},0V${height}`}
            stroke="var(--line-strong)"
            strokeDasharray="2 2"
            vectorEffect="non-scaling-stroke"
          />
        )}
      </svg>
      {hovered !== null && (
        <figcaption
          aria-hidden
          className="pointer-events-none absolute bottom-full z-10 mb-1 grid gap-0.5 rounded-md bg-text px-2 py-1 text-xs whitespace-nowrap text-page tabular-nums"
          style={
            hovered < count / 2
              ? { insetInlineStart: `${(hovered / count) * 100}%` }
              : { insetInlineEnd: `${(1 - (hovered + 1) / count) * 100}%` }
          }
        >
          <span className="opacity-75">{exactTime(times[hovered]!)}</span>
          {series.map((one) => (
            <span key={one.name}>
              {one.name} {format(one.points[hovered]?.value ?? 0)}
            </span>
          ))}
        </figcaption>
      )}
      {/* A table itself would keep its width. */}
      <div className="sr-only">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">{timeLabel}</th>
              {series.map((one) => (
                <th key={one.name} scope="col">
                  {one.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((at, index) => (
              <tr key={at}>
                <th scope="row">{exactTime(at)}</th>
                {series.map((one) => (
                  <td key={one.name}>{format(one.points[index]?.value ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

type LineProps = {
  points: readonly Point[];
  y: (value: number) => number;
  tone: Series["tone"];
  fill: string | null;
  height: number;
};

function Line({ points, y, tone, fill, height }: LineProps) {
  if (points.length === 0) return null;
  const x = (index: number) => ((index + 0.5) / points.length) * width;
  const line = points
    .map((point, index) => `${index === 0 ? "M" : "L"}${x(index)},${y(point.value)}`)
    .join("");
  return (
    <>
      {fill && <path d={`${line}L${x(points.length - 1)},${height}L${x(0)},${height}Z`} fill={fill} />}
      <path
        d={line}
        fill="none"
        stroke={`var(--chart-${tone})`}
        strokeWidth="1.75"
        strokeLinejoin="round"
        vectorEffect="non-scaling-stroke"
      />
    </>
  );
}
