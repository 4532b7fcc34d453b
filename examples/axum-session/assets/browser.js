// The same session in the browser: `@supabase/ssr` reads the cookies that the server wrote, and
// writes those that the server will read.

import { createBrowserClient } from "https://esm.sh/@supabase/ssr@0.12.7?deps=@supabase/supabase-js@2.119.0";

const { url, key } = JSON.parse(document.getElementById("project").textContent);
const supabase = createBrowserClient(url, key);

const { data } = await supabase.auth.getUser();
const shown = document.getElementById("browser");
shown.textContent = data.user
  ? `The browser knows you as ${data.user.email}.`
  : "The browser does not know you.";

const button = document.getElementById("sign-out");
button.hidden = !data.user;
button.addEventListener("click", async () => {
  await supabase.auth.signOut();
  location.reload();
});
