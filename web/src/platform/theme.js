// A classic script (scripts/theme-script.mjs): sets theme and density before the first paint. The names are those
// of lib/preferences.ts.
try {
  const { theme, density } = JSON.parse(localStorage.getItem("plinth-console") || "{}");
  const { dataset } = document.documentElement;
  if (theme === "light" || theme === "dark") dataset.theme = theme;
  if (density === "compact") dataset.density = density;
} catch {}
