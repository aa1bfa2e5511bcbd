import { Button } from './button.tsx';
import { showToast } from './toast.tsx';

/** Copies a text. The Clipboard API exists over HTTPS and on localhost only. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement('textarea');
  area.value = text;
  // Inside of an open dialog, because the rest of the page cannot have the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('the browser refused');
}

interface CopyButtonProps {
  readonly text: string;
  /** What is copied, for the button's name: `key`. */
  readonly label?: string;
}

export function CopyButton({ text, label }: CopyButtonProps) {
  const copy = async () => {
    try {
      await copyText(text);
      showToast(label ? `Copied ${label}` : 'Copied');
    } catch {
      showToast('The browser does not let this page copy; select the text instead.', {
        isFault: true,
      });
    }
  };
  return (
    <Button kind="quiet" onClick={copy} aria-label={label && `Copy ${label}`}>
      Copy
    </Button>
  );
}

interface CodeProps {
  readonly text: string;
  /** Name of the block, for screen readers and the button. */
  readonly label: string;
}

/** Text of a program, with a button that copies it. */
export function Code({ text, label }: CodeProps) {
  return (
    <div class="code">
      <header>
        <span>{label}</span>
        <CopyButton text={text} label={label} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by arrow keys */}
      <section aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
    </div>
  );
}
