import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './theme.ts';

applyTheme(chosenTheme());
// The page's own addresses are relative to its first place; browsers resolve that of the icon again later.
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!;
icon.setAttribute('href', icon.href);
render(<App />, document.body);
