// Fonts of the system: the site loads nothing from elsewhere.
import theme from 'vitepress/theme-without-fonts';

export default { extends: theme };
