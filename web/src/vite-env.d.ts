/** Whether the pages run on sample data: `PLINTH_SAMPLE=1 npx vite`. Always false in builds. */
declare const __PLINTH_SAMPLE__: boolean;
