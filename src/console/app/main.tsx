import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './theme.ts';

applyTheme(chosenTheme());
render(<App />, document.body);
