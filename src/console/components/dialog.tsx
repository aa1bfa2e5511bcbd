import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { CloseButton } from './button.tsx';

interface DialogProps {
  readonly title: string;
  /** Whether it stands at the right, as high as the page. */
  readonly isDrawer?: boolean;
  /** False where Escape would lose what is shown this once. */
  readonly closesByEscape?: boolean;
  /** Called for Escape and the button to close; the parent then stops rendering the dialog. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog, open while it is rendered. Focus returns to where it was. */
export function Dialog({
  title,
  isDrawer = false,
  closesByEscape = true,
  onClose,
  children,
}: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current!.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isDrawer ? 'drawer' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (closesByEscape) onClose();
      }}
      // Browsers close a dialog at the second Escape in a row.
      onClose={onClose}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <CloseButton onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

/** Calls a function for each key while the component is shown, wherever the focus is. */
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}
