// Marks of the known providers: drawings of our own, simple enough for 20 pixels. They are no logos; a colour
// and a shape tell the buttons apart.
//
// Each is drawn on a tile of 24 × 24. `lines` are stroked, `shapes` are filled.

export type Mark = {
  colour: string;
  /** Of the drawing; white if absent. */
  ink?: string;
  lines?: string;
  shapes?: string;
};

const linkedIn: Mark = { colour: "#0a66c2", lines: "M7 11v6M7 7v.1M11 17v-6M11 14c0-4 6-4 6 0v3" };
const slack: Mark = { colour: "#611f69", lines: "M10 5 8.5 19M15.5 5 14 19M6 9.5h13M5 14.5h13" };
const x: Mark = { colour: "#0f1419", lines: "m6.5 6 11 12M17.5 6l-11 12" };

const marks: Record<string, Mark> = {
  apple: {
    colour: "#1c1d1a",
    shapes: "M12 9c-4-2.5-7 .5-6 5s4 6 6 4.5c2 1.5 5 0 6-4.5s-2-7.5-6-5Z",
    lines: "M12 7.5c0-2 1-3 2.5-3.5",
  },
  azure: {
    colour: "#0063b1",
    shapes: "M5.5 5.5h6v6h-6zM12.5 5.5h6v6h-6zM5.5 12.5h6v6h-6zM12.5 12.5h6v6h-6z",
  },
  bitbucket: { colour: "#1558bc", lines: "M5 6.5h14l-2 11.5H7ZM10 10.5h4l-.5 3.5h-3Z" },
  discord: {
    colour: "#4752c4",
    lines: "M7 7.5c3.5-1.5 6.5-1.5 10 0l1.5 8c-1 1-2 1.5-3.5 2l-1-2h-4l-1 2c-1.5-.5-2.5-1-3.5-2Z",
    shapes: "M9.5 10.5a1.3 1.3 0 1 0 .1 0M14.5 10.5a1.3 1.3 0 1 0 .1 0",
  },
  facebook: { colour: "#0866d6", lines: "M15.5 6.5c-3.5-.5-4.5 1-4.5 4V19M8 12h6.5" },
  figma: {
    colour: "#2c2c2c",
    lines: "m12 19-4.5-7L12 5l4.5 7ZM12 19v-6",
    shapes: "M12 10.2a1.5 1.5 0 1 0 .1 0",
  },
  fly: { colour: "#6d28d9", lines: "M12 5c-7 0-5 9 0 11 5-2 7-11 0-11ZM10.5 19h3" },
  github: {
    colour: "#24292f",
    shapes: "m6 5 3 1.8c2-.6 4-.6 6 0L18 5v6.5a6 6 0 1 1-12 0Z",
  },
  gitlab: { colour: "#c2410c", shapes: "M12 19.5 4.5 13l2-8 2.5 5.5h6L17.5 5l2 8Z" },
  google: { colour: "#1a66d2", lines: "M17 8a6.5 6.5 0 1 0 1.5 4H13" },
  kakao: {
    colour: "#fee500",
    ink: "#1c1d1a",
    shapes: "M12 5.5c-9 0-9 9.5-2.5 11L9 19.5l3.5-2.8c8-.7 8-11.2-.5-11.2Z",
  },
  keycloak: { colour: "#33668a", lines: "M8.5 15.5a3.5 3.5 0 1 1 3-5.3h7.5v3M16 10.5v2.5" },
  linkedin: linkedIn,
  linkedin_oidc: linkedIn,
  notion: { colour: "#37352f", lines: "M6 5.5h12v13H6ZM9.5 15.5v-7l5 7v-7" },
  slack,
  slack_oidc: slack,
  snapchat: {
    colour: "#fffc00",
    ink: "#1c1d1a",
    shapes:
      "M12 4.5c-4 0-4.5 3-4.5 6-1 2-2 3-3 4l2.5 1 1.5 2c2-.5 2 1.5 3.5 1.5s1.5-2 3.5-1.5l1.5-2 2.5-1c-1-1-2-2-3-4 0-3-.5-6-4.5-6Z",
  },
  spotify: {
    colour: "#15803d",
    lines: "M5.5 9c4.5-1.5 9-1 13 1M6.5 12.7c3.8-1.2 7.5-.8 10.5.9M7.5 16.2c3-.8 5.5-.5 8 .8",
  },
  twitch: { colour: "#7c3aed", lines: "M6.5 5h12v8.5L15 17h-3l-2.5 2.5V17h-3ZM11 8.5v4M14.5 8.5v4" },
  twitter: x,
  vercel_marketplace: { colour: "#1c1d1a", shapes: "m12 6 7 12H5Z" },
  workos: { colour: "#4f46e5", lines: "m8.5 6h7l3.5 6-3.5 6h-7L5 12Z" },
  x,
  zoom: {
    colour: "#0b5cff",
    shapes: "M4.5 9c0-1 .5-1.5 1.5-1.5h8.5v7.5c0 1-.5 1.5-1.5 1.5H4.5ZM15.5 11l4-3v8l-4-3Z",
  },

  email: { colour: "#5b5d55", lines: "M5 7h14v10H5ZM5.5 7.5 12 13l6.5-5.5" },
  phone: { colour: "#5b5d55", lines: "M8 4.5h8v15H8ZM11 17h2" },
  web3: { colour: "#3c3c8f", shapes: "m12 4.5 5.5 8L12 15.5 6.5 12.5ZM12 17l5-2.8-5 5.8-5-5.8Z" },
};

/** Different ids of one provider; a custom provider or an unknown one has no mark. */
export const findMark = (provider: string): Mark | undefined =>
  Object.hasOwn(marks, provider) ? marks[provider] : undefined;

export const markedProviders = Object.keys(marks);
