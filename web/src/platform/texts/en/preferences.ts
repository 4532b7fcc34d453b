export const preferences = {
  theme: "Theme",
  system: "System",
  light: "Light",
  dark: "Dark",
  density: "Density",
  comfortable: "Comfortable",
  compact: "Compact",
};
