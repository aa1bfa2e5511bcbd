import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Session, signOut } from '../api/session.ts';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { Link, usePlace } from '../components/navigation.tsx';
import { showToast } from '../components/toast.tsx';
import { chosenTheme, storeTheme, THEMES, type Theme } from './theme.ts';
import { VIEWS } from './views.ts';

interface FrameProps {
  readonly session: Session | null | undefined;
  readonly children: ComponentChildren;
}

/** Header, navigation and the main part with the view. */
export function Frame({ session, children }: FrameProps) {
  const { view } = usePlace();
  const isForAnyone = VIEWS.some(({ path, access }) => path === view && access === 'anyone');
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    setOpen(false);
    // A reader of the former view continues at the top of the new one.
    if (!isFirst.current) main.current!.focus({ preventScroll: true });
    isFirst.current = false;
    scrollTo(0, 0);
  }, [view]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <button
          type="button"
          class="button quiet menu"
          aria-expanded={isOpen}
          aria-controls="views"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <Link to="" class="brand">
          <Icon name="logo" />
          Oriel
        </Link>
        <ThemeSwitch />
        {session && <Account session={session} />}
        {session === null && isForAnyone && <Link to="">Sign in</Link>}
      </header>
      <div class="body">
        <Navigation session={session} current={view} isOpen={isOpen} />
        <main id="main" ref={main} tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  );
}

interface NavigationProps extends Pick<FrameProps, 'session'> {
  readonly current: string;
  readonly isOpen: boolean;
}

function Navigation({ session, current, isOpen }: NavigationProps) {
  const isShown = { anyone: true, key: Boolean(session), owner: session?.owner ?? false };
  const shown = VIEWS.filter(({ access }) => isShown[access]);
  return (
    <nav id="views" aria-label="Views" class={isOpen ? 'open' : undefined}>
      <ul>
        {shown.map(({ path, label, icon, access }) => (
          <li key={path} class={access}>
            <Link to={path} aria-current={path === current ? 'page' : undefined}>
              <Icon name={icon} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Account({ session: { account, key } }: { readonly session: Session }) {
  const leave = () =>
    signOut().catch((error: Error) => showToast(error.message, { isFault: true }));
  return (
    <div class="account">
      <span class="ellipsis">
        {account.name} <span class="muted">{key.name}</span>
      </span>
      <Button kind="quiet" onClick={leave}>
        Sign out
      </Button>
    </div>
  );
}

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const choose = (value: string) => {
    storeTheme(value as Theme);
    setTheme(value as Theme);
  };
  return (
    <label class="theme">
      <span class="hidden">Theme</span>
      <select value={theme} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {THEMES.map((one) => (
          <option key={one} value={one} selected={one === theme}>
            {one.charAt(0).toUpperCase() + one.slice(1)}
          </option>
        ))}
      </select>
    </label>
  );
}
